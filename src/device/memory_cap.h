#pragma once

#include <sys/resource.h>

#include <optional>

namespace ptbench {

/// While it lives, this process gets no more memory than is available when it is made: who asks for
/// more gets std::bad_alloc. Otherwise the kernel promises what it does not have, and ends the
/// process without a word. For what takes memory by the size of a file that anybody has written.
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
