#pragma once

#include <sched.h>

#include <vector>

namespace ptbench {

/// Remembers the calling thread's CPU affinity and puts it back when destroyed, on the same thread.
class AffinityGuard {
 public:
  AffinityGuard();
  ~AffinityGuard();
  AffinityGuard(const AffinityGuard&) = delete;
  AffinityGuard& operator=(const AffinityGuard&) = delete;

 private:
  cpu_set_t saved_{};
  bool valid_ = false;
};

/// Binds the calling thread to one CPU. False where the kernel refuses (the CPU is gone or not
/// allowed): the thread then runs where it was.
bool pin_this_thread(int cpu);

}  // namespace ptbench
