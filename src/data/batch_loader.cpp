#include "src/data/batch_loader.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

/// Below this, waking other threads costs more than its copying saves.
constexpr Bytes kSharedCopyBytes = Bytes{64} << 10U;
/// The same for each of the threads that sleep between batches.
constexpr Bytes kBytesOfThread = Bytes{1} << 20U;

std::size_t index(Size value) { return static_cast<std::size_t>(value); }

template <class T>
std::span<T> part(std::span<T> all, Range range, std::size_t elements) {
  return all.subspan(index(range.begin) * elements, index(range.size()) * elements);
}

}  // namespace

BatchLoader::BatchLoader(const SampleSource& source, Sampler sampler, LoadingPlan plan)
    : source_(&source),
      sampler_(std::move(sampler)),
      elements_(index(source.sample_shape().elements())),
      type_(kept_type(plan.type)),
      device_(plan.device) {
  ensure(plan.workers >= 0, "there are no fewer than 0 workers");
  const Bytes bytes = index(sampler_.micro_batch()) * elements_ * bytes_of(type_);
  if (device_ != nullptr && (device_->host_threads() == 1 || bytes <= kSharedCopyBytes))
    device_ = nullptr;
  const auto threads = std::min(index(plan.gather_threads), bytes / kBytesOfThread);
  if (device_ == nullptr && threads > 1)
    threads_ = std::make_unique<GatherThreads>(static_cast<int>(threads));
  if (plan.workers == 0) return;
  if (plan.worker_cpus.empty() && plan.device != nullptr)
    plan.worker_cpus.assign(plan.device->cpus().begin(), plan.device->cpus().end());
  prefetcher_ = std::make_unique<Prefetcher>(source, sampler_,
                                             Prefetcher::Plan{.type = type_,
                                                              .workers = plan.workers,
                                                              .deadline = plan.deadline,
                                                              .cpus = std::move(plan.worker_cpus)});
}

void BatchLoader::next(const BatchRoom& room) {
  ensure(room.labels.size() == index(sampler_.micro_batch()) &&
             room.inputs.size() == room.labels.size() * elements_ && room.inputs.type() == type_,
         "the room fits the micro-batch");
  if (prefetcher_ == nullptr)
    gather_next(room);
  else
    copy_next(room);
}

void BatchLoader::gather_next(const BatchRoom& room) {
  const std::span<const Size> indices = sampler_.next();
  share([&](Range samples) {
    source_->gather(
        part(indices, samples, 1),
        room.inputs.part(index(samples.begin) * elements_, index(samples.size()) * elements_),
        part(room.labels, samples, 1));
  });
}

void BatchLoader::copy_next(const BatchRoom& room) {
  const MicroBatch batch = prefetcher_->wait();
  sampler_.skip();
  const std::size_t bytes = elements_ * bytes_of(type_);
  share([&](Range samples) {
    std::ranges::copy(part(batch.inputs, samples, bytes),
                      part(room.inputs.bytes(), samples, bytes).begin());
    std::ranges::copy(part(batch.labels, samples, 1), part(room.labels, samples, 1).begin());
  });
  prefetcher_->release();
}

/// Calls `job` for all samples of the micro-batch, in parts that threads share.
void BatchLoader::share(FunctionRef<void(Range samples)> job) {
  const Size samples = sampler_.micro_batch();
  const auto parts_of = [&](int parts) {
    return [&job, samples, parts](int part) { job(part_of(samples, part, parts)); };
  };
  if (device_ != nullptr)
    device_->run_on_host(device_->host_threads(), parts_of(device_->host_threads()));
  else if (threads_ != nullptr)
    threads_->run(parts_of(threads_->size()));
  else
    job({0, samples});
}

}  // namespace ptbench
