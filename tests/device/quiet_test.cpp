#include "src/device/quiet.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace ptbench {
namespace {

/// Sleeps until it is told to work, and works until it is told to end.
class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    ends_ = true;
    work();
    thread_.join();
  }

  /// Returns when it works.
  void work() {
    {
      const std::lock_guard lock(mutex_);
      may_work_ = true;
    }
    changed_.notify_one();
    while (!works_) std::this_thread::yield();
  }

  void work_for(std::chrono::milliseconds time) {
    until_ = (std::chrono::steady_clock::now() + time).time_since_epoch().count();
    work();
  }

 private:
  void run() {
    while (!ends_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return may_work_; });
      may_work_ = false;
      works_ = true;
      while (!ends_ && std::chrono::steady_clock::now().time_since_epoch().count() < until_) {
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_work_ = false;
  std::atomic<bool> works_ = false;
  std::atomic<bool> ends_ = false;
  std::atomic<std::chrono::steady_clock::rep> until_ = 0;
  std::thread thread_;
};

TEST_CASE("a process whose other threads sleep is quiet", "[device]") {
  CHECK(wait_until_quiet());
  const Worker worker;
  CHECK(wait_until_quiet());
}

TEST_CASE("a thread that works is waited for, but not for ever", "[device]") {
  Worker worker;
  worker.work_for(std::chrono::minutes(1));
  CHECK_FALSE(wait_until_quiet(std::chrono::milliseconds(50)));
}

TEST_CASE("what falls asleep while it is waited for is quiet", "[device]") {
  Worker worker;
  const auto begin = std::chrono::steady_clock::now();
  worker.work_for(std::chrono::milliseconds(30));
  CHECK(wait_until_quiet(std::chrono::minutes(1)));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(30));
}

}  // namespace
}  // namespace ptbench
