#include "src/device/team.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <set>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/device/affinity.h"
#include "src/device/denormals.h"
#include "src/device/futex.h"

namespace ptbench {
namespace {

/// About 100 µs of spinning on current cores: longer than any gap between two operators, shorter
/// than a scheduler tick.
constexpr int kSpins = 4000;

double thread_cpu_seconds() {
  timespec time{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

/// Written by the maker, read by the members; each word on its own cache line pair.
struct Team::Shared {
  alignas(128) FutexWord generation{0};  ///< counts jobs; members sleep on it
  alignas(128) FutexWord remaining{0};   ///< members still in the job; the maker sleeps on it
  alignas(128) std::atomic<int> sleepers{0};
  alignas(128) const Job* job = nullptr;
  int members = 0;
  bool stop = false;
  int spins = kSpins;
  std::vector<std::exception_ptr> failures;
  bool is_metered = false;
  double slowest_seconds = 0;       ///< of CPU, of the slowest members of all jobs since
  double maker_seconds = 0;         ///< of CPU that the maker spent in `run` since
  std::vector<double> cpu_seconds;  ///< of each member, in this job
  AffinityGuard maker_affinity;
  FlushDenormals maker_arithmetic;

  /// A member's part of the job.
  void compute(int member) {
    if (!is_metered) return (*job)(member);
    const double begin = thread_cpu_seconds();
    (*job)(member);
    cpu_seconds[static_cast<std::size_t>(member)] = thread_cpu_seconds() - begin;
  }
};

Team::Team(std::vector<int> cpus, std::chrono::milliseconds deadline)
    : cpus_(std::move(cpus)), deadline_(deadline), shared_(std::make_unique<Shared>()) {
  ensure(!cpus_.empty(), "a team has at least one member");
  shared_->failures.resize(cpus_.size());
  shared_->cpu_seconds.resize(cpus_.size());
  // Members that share a core must not burn the time that the other one needs.
  if (std::set<int>(cpus_.begin(), cpus_.end()).size() < cpus_.size()) shared_->spins = 0;
  (void)pin_this_thread(cpus_.front());
  threads_.reserve(cpus_.size() - 1);
  try {
    for (int member = 1; member < size(); ++member)
      threads_.emplace_back([this, member] { work(member); });
  } catch (const std::system_error& failure) {
    shared_->stop = true;
    signal_members();
    for (std::thread& thread : threads_) thread.join();
    throw usage_error(fmt::format("cannot start {} threads: {}", size(), failure.what()),
                      "choose a smaller --threads");
  }
}

Team::~Team() {
  shared_->stop = true;
  signal_members();
  for (std::thread& thread : threads_) thread.join();
}

void Team::signal_members() {
  shared_->generation.fetch_add(1, std::memory_order_seq_cst);
  if (shared_->sleepers.load(std::memory_order_seq_cst) > 0) futex_wake_all(shared_->generation);
}

void Team::work(int member) {
  const FlushDenormals arithmetic;
  (void)pin_this_thread(cpus_[static_cast<std::size_t>(member)]);
  Shared& shared = *shared_;
  std::uint32_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < shared.spins; ++spin) {
      if (shared.generation.load(std::memory_order_acquire) != seen) break;
      cpu_relax();
    }
    while (shared.generation.load(std::memory_order_acquire) == seen) {
      shared.sleepers.fetch_add(1, std::memory_order_seq_cst);
      futex_wait(shared.generation, seen, std::chrono::seconds(1));
      shared.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    }
    ++seen;
    if (shared.stop) return;
    if (member < shared.members) {
      try {
        shared.compute(member);
      } catch (...) {
        shared.failures[static_cast<std::size_t>(member)] = std::current_exception();
      }
    }
    // Members without a part report too: the next job may not begin before they have seen this one.
    if (shared.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1)
      futex_wake_all(shared.remaining);
  }
}

void Team::run(int members, Job job) {
  ensure(members >= 1 && members <= size(), "a job runs on members of the team");
  if (members == 1) {
    job(0);  // between jobs, as a meter sees it
    return;
  }
  Shared& shared = *shared_;
  const double begin = shared.is_metered ? thread_cpu_seconds() : 0;
  shared.job = &job;
  shared.members = members;
  shared.remaining.store(static_cast<std::uint32_t>(threads_.size()), std::memory_order_relaxed);
  signal_members();
  std::exception_ptr failure;
  try {
    shared.compute(0);
  } catch (...) {
    failure = std::current_exception();
  }
  wait_for_members();
  for (std::exception_ptr& other : shared.failures) {
    if (other && !failure) failure = other;
    other = nullptr;
  }
  if (failure) std::rethrow_exception(failure);
  if (!shared.is_metered) return;
  shared.slowest_seconds +=
      *std::max_element(shared.cpu_seconds.begin(), shared.cpu_seconds.begin() + members);
  shared.maker_seconds += thread_cpu_seconds() - begin;
}

double Team::core_seconds_of(FunctionRef<void()> work) {
  Shared& shared = *shared_;
  ensure(!shared.is_metered, "a team meters one piece of work at a time");
  shared.slowest_seconds = 0;
  shared.maker_seconds = 0;
  shared.is_metered = true;
  const double begin = thread_cpu_seconds();
  try {
    work();
  } catch (...) {
    shared.is_metered = false;
    throw;
  }
  shared.is_metered = false;
  return thread_cpu_seconds() - begin - shared.maker_seconds + shared.slowest_seconds;
}

void Team::wait_for_members() {
  Shared& shared = *shared_;
  for (int spin = 0; spin < shared.spins; ++spin) {
    if (shared.remaining.load(std::memory_order_acquire) == 0) return;
    cpu_relax();
  }
  const auto end = std::chrono::steady_clock::now() + deadline_;
  for (;;) {
    const std::uint32_t left = shared.remaining.load(std::memory_order_acquire);
    if (left == 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) {
      log_error(fmt::format("{} of {} team threads did not finish within {} s", left, size(),
                            std::chrono::duration<double>(deadline_).count()));
      // Its thread cannot be called back, so nothing here may go on; the exit code says defect.
      std::_Exit(static_cast<int>(ExitCode::defect));
    }
    futex_wait(shared.remaining, left, end - now);
  }
}

}  // namespace ptbench
