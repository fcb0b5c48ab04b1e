#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "src/base/element_type.h"
#include "src/base/function_ref.h"
#include "src/base/sample_values.h"
#include "src/data/dataset.h"
#include "src/data/gather_threads.h"
#include "src/data/prefetcher.h"
#include "src/data/sampler.h"
#include "src/device/device.h"

namespace ptbench {

/// Who loads batches, and as what.
struct LoadingPlan {
  ElementType type = ElementType::f32;  ///< as which inputs are kept
  /// Whose host threads share the copying of large batches, each its part of the batch. It outlives
  /// the loader. Null: one thread copies all.
  Device* device = nullptr;
  /// Threads that share it where the device has one host thread, that of `next` among them. They
  /// sleep between batches.
  int gather_threads = 1;
  /// Threads of the loader's own that gather ahead; `next` copies what they have. Without any,
  /// samples are gathered in `next`.
  int workers = 0;
  std::chrono::milliseconds deadline = std::chrono::seconds(60);  ///< of a wait for the workers
  /// Where workers run; empty: on the device's CPUs.
  // NOLINTNEXTLINE(readability-redundant-member-init): callers leave it out
  std::vector<int> worker_cpus = {};
};

/// Brings one micro-batch after the other, in the sampler's order, to where a program takes it. The
/// batches are the same bit by bit however many threads load them.
class BatchLoader {
 public:
  /// The source must outlive the loader.
  BatchLoader(const SampleSource& source, Sampler sampler, LoadingPlan plan = {});

  /// Writes the next micro-batch to `room`, memory of the host that has the plan's type and fits
  /// the micro-batch. Allocates nothing. With a device, to be called by its maker, and not from one
  /// of its jobs. Throws what a worker's gathering threw, at the micro-batch where it did, and a
  /// run error after the deadline.
  void next(const BatchRoom& room);

  /// Tells the epoch of the next micro-batch, steps in an epoch and samples left out.
  [[nodiscard]] const Sampler& sampler() const { return sampler_; }

 private:
  void gather_next(const BatchRoom& room);
  void copy_next(const BatchRoom& room);
  void share(FunctionRef<void(Range samples)> job);

  const SampleSource* source_;
  Sampler sampler_;
  std::size_t elements_;  ///< of one sample
  ElementType type_;
  Device* device_;                          ///< null where its threads copy nothing
  std::unique_ptr<GatherThreads> threads_;  ///< null where they copy nothing
  std::unique_ptr<Prefetcher> prefetcher_;  ///< null without workers
};

}  // namespace ptbench
