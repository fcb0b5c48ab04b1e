#include "src/device/memory_cap.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "src/device/memory.h"

namespace ptbench {
namespace {

/// Other programs take some meanwhile.
constexpr double kShare = 0.9;

/// Of this process's address space; 0 where that is not known.
Bytes address_space() {
  Bytes pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
}

}  // namespace

MemoryCap::MemoryCap() {
  rlimit limit{};
  const Bytes taken = address_space();
  if (taken == 0 || getrlimit(RLIMIT_AS, &limit) != 0) return;
  const auto room = static_cast<Bytes>(kShare * static_cast<double>(available_memory()));
  rlimit lower = limit;
  lower.rlim_cur = std::min<rlim_t>(limit.rlim_cur, taken + room);
  if (setrlimit(RLIMIT_AS, &lower) == 0) before_ = limit;
}

MemoryCap::~MemoryCap() {
  if (before_) (void)setrlimit(RLIMIT_AS, &*before_);
}

}  // namespace ptbench
