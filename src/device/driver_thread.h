#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "src/base/function_ref.h"

namespace ptbench {

/// A thread that executes one job after the other for its maker, who works on meanwhile. It drives
/// a device: that device's team is made by a job, and used and destroyed by later ones. Between
/// jobs it waits as a team's members do: spinning first, then asleep on a futex.
///
/// `start` and `wait` are called by the maker only, in turn.
class DriverThread {
 public:
  using Job = FunctionRef<void()>;

  /// How maker and thread wait for each other at first: `sleep` is for those who share a core.
  enum class Waiting : bool { spin, sleep };

  /// Throws a usage error where no thread can be started.
  explicit DriverThread(Waiting waiting = Waiting::spin);
  /// Waits for the job that was started last.
  ~DriverThread();
  DriverThread(const DriverThread&) = delete;
  DriverThread& operator=(const DriverThread&) = delete;

  /// Begins `job` and returns. What it views lives until `wait` has returned. Allocates nothing.
  void start(Job job);
  /// Waits for the job that was started; throws here what it threw. A job that misses the deadline
  /// is a broken invariant and ends the process, since its thread cannot be called back.
  void wait(std::chrono::milliseconds deadline = std::chrono::hours(1));

 private:
  struct Shared;
  void work();
  void wait_until_finished(std::chrono::milliseconds deadline);

  std::unique_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace ptbench
