#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/function_ref.h"
#include "src/data/dataset.h"
#include "src/data/prefetcher.h"
#include "src/data/sampler.h"
#include "src/device/device.h"

namespace ptbench {

/// Fills a program's input buffers with one micro-batch after the other, in the sampler's order.
/// The batches are the same bit by bit however many threads load them.
class BatchLoader {
 public:
  /// `inputs` (micro-batch × sample elements) and `labels` (micro-batch) are memory of the host.
  /// The host threads of a `device` share the copying of large batches, each its part of the batch.
  /// Source, buffers and device must outlive the loader.
  ///
  /// Without `workers`, samples are gathered in `next`. With them, as many threads of the loader's
  /// own gather ahead, on `worker_cpus` (without any, on the device's), and `next` copies what they
  /// have; it waits no longer than `deadline` for one micro-batch.
  BatchLoader(const SampleSource& source, Sampler sampler, std::span<float> inputs,
              std::span<std::int32_t> labels, Device* device = nullptr, int workers = 0,
              std::chrono::milliseconds deadline = std::chrono::seconds(60),
              std::vector<int> worker_cpus = {});

  /// Replaces the micro-batch in the buffers by the next one. Allocates nothing. With a device,
  /// to be called by its maker, and not from one of its jobs. Throws what a worker's gathering
  /// threw, at the micro-batch where it did, and a run error after the deadline.
  void next();

  /// Tells the epoch of the next micro-batch, steps in an epoch and samples left out.
  [[nodiscard]] const Sampler& sampler() const { return sampler_; }

 private:
  void gather_next();
  void copy_next();
  void share(FunctionRef<void(Range samples)> job);

  const SampleSource* source_;
  Sampler sampler_;
  std::span<float> inputs_;
  std::span<std::int32_t> labels_;
  std::size_t elements_;                    ///< of one sample
  Device* device_;                          ///< null where one thread copies all
  std::unique_ptr<Prefetcher> prefetcher_;  ///< null without workers
};

}  // namespace ptbench
