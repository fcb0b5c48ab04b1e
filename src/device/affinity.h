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

/// Those of the first thread when the program began: what it was given, whoever has been bound
/// since. Of the program; in a module, of the thread that opened it.
[[nodiscard]] const cpu_set_t& given_cpus() noexcept;

/// Those that the calling thread may run on.
[[nodiscard]] cpu_set_t cpus_of_this_thread() noexcept;

/// Lets the calling thread run on these. Best effort: where the kernel refuses, it stays.
void spread_this_thread(const cpu_set_t& cpus) noexcept;

}  // namespace ptbench
