#pragma once

#include <cstdint>
#include <span>

#include "src/data/dataset.h"
#include "src/data/sampler.h"
#include "src/device/team.h"

namespace ptbench {

/// Fills a program's input buffers with one micro-batch after the other, in the sampler's order.
class BatchLoader {
 public:
  /// `inputs` (micro-batch × sample elements) and `labels` (micro-batch) are the staging buffers.
  /// With a `team`, its members share the copying of large batches, each its part of the batch.
  /// Dataset, buffers and team must outlive the loader.
  BatchLoader(const Dataset& dataset, Sampler sampler, std::span<float> inputs,
              std::span<std::int32_t> labels, Team* team = nullptr);

  /// Replaces the micro-batch in the buffers by the next one. Allocates nothing. With a team, to be
  /// called by the team's maker, and not from one of its jobs.
  void next();

  /// Tells the epoch of the next micro-batch, steps in an epoch and samples left out.
  [[nodiscard]] const Sampler& sampler() const { return sampler_; }

 private:
  const Dataset* dataset_;
  Sampler sampler_;
  std::span<float> inputs_;
  std::span<std::int32_t> labels_;
  Team* team_;  ///< null where one thread copies all
};

}  // namespace ptbench
