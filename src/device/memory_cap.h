#pragma once

#include <sys/resource.h>

#include <optional>

namespace ptbench {

/// While it lives, this process gets no more memory than is available when it is made: a larger
/// request throws std::bad_alloc. Without it the kernel promises memory that it does not have, and
/// kills the process without a word. Use it where a foreign file says how much to allocate.
class MemoryCap {
 public:
  MemoryCap();
  MemoryCap(const MemoryCap&) = delete;
  MemoryCap& operator=(const MemoryCap&) = delete;
  ~MemoryCap();

 private:
  std::optional<rlimit> before_;  ///< empty where nothing was changed
};

}  // namespace ptbench
