#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "src/base/function_ref.h"

namespace ptbench {

/// The pinned threads of one CPU device. The thread that makes the team is member 0 and is pinned
/// too, until the team goes; all compute with denormal numbers as zero. The others wait for
/// work: spinning first, then asleep on a futex.
///
/// One job runs at a time: `run` is called by the maker only, and no job calls it again.
class Team {
 public:
  using Job = FunctionRef<void(int member)>;

  /// One thread for each CPU number; `cpus` may name a CPU twice (threads then share it and spin
  /// less). `deadline` bounds the wait for the members of one job.
  explicit Team(std::vector<int> cpus,
                std::chrono::milliseconds deadline = std::chrono::minutes(5));
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(cpus_.size()); }
  [[nodiscard]] const std::vector<int>& cpus() const { return cpus_; }

  /// Calls job(member) once on each of the first `members` threads and returns when all have
  /// returned. With one member it is a plain call. What a member throws is thrown here (the lowest
  /// member's, if several do). A member that misses the deadline is a broken invariant and ends
  /// the process, since its thread cannot be called back.
  void run(int members, Job job);
  void run(Job job) { run(size(), job); }

  /// CPU seconds that `work`, which calls `run`, takes of the cores it computes on, as if nobody
  /// else used them and handing out jobs cost nothing: those of the slowest member of each job, and
  /// the maker's own between jobs.
  [[nodiscard]] double core_seconds_of(FunctionRef<void()> work);

 private:
  struct Shared;
  void work(int member);
  void signal_members();
  void wait_for_members();

  std::vector<int> cpus_;
  std::chrono::milliseconds deadline_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace ptbench
