#include "src/data/prefetcher.h"

#include <fmt/format.h>
#include <sched.h>

#include <cstddef>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/units.h"
#include "src/data/memory_check.h"

namespace ptbench {
namespace {

/// The maker is a pinned member of a team, and threads inherit that. Best effort: a worker that may
/// not move works where it is.
void allow_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &set);
  (void)sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

Prefetcher::Prefetcher(const SampleSource& source, Sampler sampler, Plan plan)
    : source_(&source), sampler_(std::move(sampler)), plan_(std::move(plan)) {
  ensure(plan_.workers >= 1 && sampler_.micro_batch() >= 1, "there is something to prefetch");
  const Size slots = Size{plan_.workers} + 1;
  const auto samples = static_cast<std::size_t>(sampler_.micro_batch());
  const Bytes bytes =
      samples * static_cast<Bytes>(source.sample_shape().elements()) * bytes_of(plan_.type);
  check_memory(fmt::format("a ring of {} micro-batches", slots), slots, static_cast<double>(bytes),
               "choose fewer --data-workers");
  slots_.resize(static_cast<std::size_t>(slots));
  for (Slot& slot : slots_) {
    slot.indices.resize(samples);
    slot.inputs.resize(bytes);
    slot.labels.resize(samples);
  }
  start_workers();
}

Prefetcher::~Prefetcher() { stop_workers(); }

void Prefetcher::start_workers() {
  threads_.reserve(static_cast<std::size_t>(plan_.workers));
  try {
    for (int worker = 0; worker < plan_.workers; ++worker)
      threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& failure) {
    stop_workers();
    throw usage_error(
        fmt::format("cannot start {} loader threads: {}", plan_.workers, failure.what()),
        "choose fewer --data-workers");
  }
}

void Prefetcher::stop_workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  slot_free_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Prefetcher::work() {
  allow_cpus(plan_.cpus);
  std::unique_lock lock(mutex_);
  for (;;) {
    slot_free_.wait(lock, [&] { return stopping_ || claimed_ - consumed_ < slots_.size(); });
    if (stopping_) return;
    // Claimed in order, so that every micro-batch before a failed one still arrives.
    const std::uint64_t number = claimed_++;
    Slot& slot = slot_of(number);
    const std::span<const Size> indices = sampler_.next();
    slot.indices.assign(indices.begin(), indices.end());
    lock.unlock();
    std::exception_ptr failure;
    try {
      source_->gather(slot.indices, {slot.inputs, plan_.type}, slot.labels);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      slot.failure = std::move(failure);
      stopping_ = true;
      slot_free_.notify_all();
    }
    slot.ready = true;
    if (number == consumed_) batch_ready_.notify_one();
  }
}

MicroBatch Prefetcher::wait() {
  std::unique_lock lock(mutex_);
  const Slot& slot = slot_of(consumed_);
  if (!batch_ready_.wait_for(lock, plan_.deadline, [&] { return slot.ready; }))
    throw run_error(
        fmt::format("the loader threads (--data-workers {}) delivered no micro-batch within {}",
                    plan_.workers,
                    format_duration(std::chrono::duration<double>(plan_.deadline).count())),
        "check what else keeps the cores busy, or load without threads (--data-workers 0)");
  if (slot.failure) std::rethrow_exception(slot.failure);
  return {slot.inputs, slot.labels};
}

void Prefetcher::release() {
  {
    const std::lock_guard lock(mutex_);
    ensure(slot_of(consumed_).ready, "a micro-batch is released after it was waited for");
    slot_of(consumed_).ready = false;
    ++consumed_;
  }
  slot_free_.notify_one();
}

}  // namespace ptbench
