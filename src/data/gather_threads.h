#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/function_ref.h"

namespace ptbench {

/// Threads that do the parts of one job at the same time, and sleep between jobs. Unlike a team's
/// they are bound to no CPU: they run where their maker may.
class GatherThreads {
 public:
  /// `threads`: at least 1, the caller of `run` among them. There are fewer where the system starts
  /// no more.
  explicit GatherThreads(int threads);
  ~GatherThreads();
  GatherThreads(const GatherThreads&) = delete;
  GatherThreads& operator=(const GatherThreads&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(helpers_.size()) + 1; }
  /// Calls job(part) for every part below size(), each on a thread of its own, and returns when all
  /// have returned. Throws what a part threw, the lowest one's where several did. Allocates
  /// nothing. For one caller at a time; no job calls it.
  void run(FunctionRef<void(int part)> job);

 private:
  using Job = FunctionRef<void(int part)>;
  void help(int part);
  void do_part(const Job& job, int part);

  std::mutex mutex_;  ///< of all below; failures_ are their parts' until these have returned
  std::condition_variable begun_;
  std::condition_variable ended_;
  const Job* job_ = nullptr;
  std::uint64_t jobs_ = 0;  ///< that were begun
  int working_ = 0;         ///< helpers whose parts of the last one have not returned
  bool stopping_ = false;
  std::vector<std::exception_ptr> failures_;  ///< by part
  std::vector<std::thread> helpers_;
};

}  // namespace ptbench
