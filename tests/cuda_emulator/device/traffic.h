#pragma once

#include <vector>

#include "tests/cuda_emulator/device/scheduler.h"
#include "tests/cuda_emulator/ptx/types.h"

namespace ptbench::emulator {

/// Which memory of the device each operation touches, in words of four bytes: one that it touches
/// several times counts once, as if caches were as large as memory, and one that it reads after it
/// wrote it does not count as read. What an operation moves at least.
class Traffic {
 public:
  /// The operation with this number touches a word of which it has touched nothing before.
  void add(U32 operation, bool writes);
  /// Says on standard error how many operations of each name there were, and what they touched.
  void tell(const Scheduler& scheduler) const;

 private:
  struct Words {
    U64 read = 0;
    U64 written = 0;
  };
  std::vector<Words> of_operations_;  ///< by number
};

}  // namespace ptbench::emulator
