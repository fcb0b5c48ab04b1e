#include "src/device/affinity.h"

namespace ptbench {
namespace {

const cpu_set_t kGivenCpus = cpus_of_this_thread();

}  // namespace

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

const cpu_set_t& given_cpus() noexcept { return kGivenCpus; }

cpu_set_t cpus_of_this_thread() noexcept {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  (void)sched_getaffinity(0, sizeof cpus, &cpus);
  return cpus;
}

void spread_this_thread(const cpu_set_t& cpus) noexcept {
  (void)sched_setaffinity(0, sizeof cpus, &cpus);  // it refuses an empty set
}

}  // namespace ptbench
