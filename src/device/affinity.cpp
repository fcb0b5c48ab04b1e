#include "src/device/affinity.h"

namespace ptbench {

AffinityGuard::AffinityGuard() : valid_(sched_getaffinity(0, sizeof saved_, &saved_) == 0) {}

AffinityGuard::~AffinityGuard() {
  if (valid_) (void)sched_setaffinity(0, sizeof saved_, &saved_);
}

bool pin_this_thread(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace ptbench
