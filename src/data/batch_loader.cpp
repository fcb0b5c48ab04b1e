#include "src/data/batch_loader.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

/// Below this, waking other threads costs more than its copying saves.
constexpr Bytes kSharedCopyBytes = Bytes{64} << 10U;

std::size_t index(Size value) { return static_cast<std::size_t>(value); }

template <class T>
std::span<T> part(std::span<T> all, Range range, std::size_t elements) {
  return all.subspan(index(range.begin) * elements, index(range.size()) * elements);
}

}  // namespace

BatchLoader::BatchLoader(const SampleSource& source, Sampler sampler, std::span<float> inputs,
                         std::span<std::int32_t> labels, Device* device, int workers,
                         std::chrono::milliseconds deadline, std::vector<int> worker_cpus)
    : source_(&source),
      sampler_(std::move(sampler)),
      inputs_(inputs),
      labels_(labels),
      elements_(index(source.sample_shape().elements())),
      device_(inputs.size_bytes() > kSharedCopyBytes ? device : nullptr) {
  ensure(inputs.size() == labels.size() * elements_,
         "the staging buffers hold the same number of samples");
  ensure(workers >= 0, "there are no fewer than 0 workers");
  if (workers == 0) return;
  if (worker_cpus.empty() && device != nullptr)
    worker_cpus.assign(device->cpus().begin(), device->cpus().end());
  prefetcher_ =
      std::make_unique<Prefetcher>(source, sampler_,
                                   Prefetcher::Plan{.micro_batch = static_cast<Size>(labels.size()),
                                                    .workers = workers,
                                                    .deadline = deadline,
                                                    .cpus = std::move(worker_cpus)});
}

void BatchLoader::next() {
  if (prefetcher_ == nullptr)
    gather_next();
  else
    copy_next();
}

void BatchLoader::gather_next() {
  const std::span<const Size> indices = sampler_.next();
  share([&](Range samples) {
    source_->gather(part(indices, samples, 1), part(inputs_, samples, elements_),
                    part(labels_, samples, 1));
  });
}

void BatchLoader::copy_next() {
  const MicroBatch batch = prefetcher_->wait();
  sampler_.skip();
  share([&](Range samples) {
    std::ranges::copy(part(batch.inputs, samples, elements_),
                      part(inputs_, samples, elements_).begin());
    std::ranges::copy(part(batch.labels, samples, 1), part(labels_, samples, 1).begin());
  });
  prefetcher_->release();
}

/// Calls `job` for all samples of the micro-batch, in parts that the device's host threads share.
void BatchLoader::share(FunctionRef<void(Range samples)> job) {
  const auto samples = static_cast<Size>(labels_.size());
  const int parts = device_ == nullptr ? 1 : device_->host_threads();
  if (parts == 1) {
    job({0, samples});
    return;
  }
  device_->run_on_host(parts, [&](int part) { job(part_of(samples, part, parts)); });
}

}  // namespace ptbench
