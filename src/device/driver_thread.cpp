#include "src/device/driver_thread.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/device/futex.h"

namespace ptbench {
namespace {

/// As long as a team's members spin, about 100 µs.
constexpr int kPolls = 4000;

/// Until `word` is no longer `old`, or for `spins` turns. Returns whether it changed.
bool spin_while(const FutexWord& word, std::uint32_t old, int spins) {
  for (int spin = 0; spin < spins; ++spin) {
    if (word.load(std::memory_order_acquire) != old) return true;
    cpu_relax();
  }
  return word.load(std::memory_order_acquire) != old;
}

}  // namespace

/// Each bell on its own cache line pair. The job and its failure belong to the thread between the
/// two bells, and to the maker otherwise.
struct DriverThread::Shared {
  /// A word on which at most one thread sleeps; changing it wakes that one. The order of the total
  /// order: the sleeper says so and then looks; who changes the word does so and then looks for it.
  struct Bell {
    FutexWord count{0};
    std::atomic<bool> sleeps{false};

    void ring() {
      count.fetch_add(1, std::memory_order_seq_cst);
      if (sleeps.load(std::memory_order_seq_cst)) futex_wake_all(count);
    }
    void sleep_while(std::uint32_t old, std::chrono::nanoseconds limit) {
      sleeps.store(true, std::memory_order_seq_cst);
      futex_wait(count, old, limit);
      sleeps.store(false, std::memory_order_seq_cst);
    }
  };

  alignas(128) Bell started;   ///< counts jobs, and the end of all
  alignas(128) Bell finished;  ///< counts jobs
  alignas(128) std::optional<Job> job;
  std::exception_ptr failure;
  std::uint32_t jobs = 0;  ///< the maker's count
  bool is_running = false;
  bool stop = false;
  int spins = kPolls;
};

DriverThread::DriverThread(Waiting waiting) : shared_(std::make_unique<Shared>()) {
  if (waiting == Waiting::sleep) shared_->spins = 0;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& failure) {
    throw usage_error(fmt::format("cannot start a thread for a replica: {}", failure.what()),
                      "choose a smaller --nproc");
  }
}

DriverThread::~DriverThread() {
  if (shared_->is_running) wait_until_finished(std::chrono::minutes(5));
  shared_->stop = true;
  shared_->started.ring();
  thread_.join();
}

void DriverThread::start(Job job) {
  Shared& shared = *shared_;
  ensure(!shared.is_running, "a driver runs one job at a time");
  shared.job = job;
  shared.is_running = true;
  ++shared.jobs;
  shared.started.ring();
}

void DriverThread::wait(std::chrono::milliseconds deadline) {
  Shared& shared = *shared_;
  ensure(shared.is_running, "a job was started that can be waited for");
  wait_until_finished(deadline);
  shared.is_running = false;
  if (shared.failure) std::rethrow_exception(std::exchange(shared.failure, nullptr));
}

void DriverThread::wait_until_finished(std::chrono::milliseconds deadline) {
  Shared& shared = *shared_;
  const std::uint32_t old = shared.jobs - 1;
  if (spin_while(shared.finished.count, old, shared.spins)) return;
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (shared.finished.count.load(std::memory_order_acquire) == old) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) {
      log_error(fmt::format("a replica's thread did not finish within {} s",
                            std::chrono::duration<double>(deadline).count()));
      // Its thread cannot be called back, so nothing here may go on; the exit code says defect.
      std::_Exit(static_cast<int>(ExitCode::defect));
    }
    shared.finished.sleep_while(old, end - now);
  }
}

void DriverThread::work() {
  Shared& shared = *shared_;
  for (std::uint32_t seen = 0;; ++seen) {
    if (!spin_while(shared.started.count, seen, shared.spins))
      while (shared.started.count.load(std::memory_order_acquire) == seen)
        shared.started.sleep_while(seen, std::chrono::seconds(1));
    if (shared.stop) return;
    try {
      (*shared.job)();
    } catch (...) {
      shared.failure = std::current_exception();
    }
    shared.finished.ring();
  }
}

}  // namespace ptbench
