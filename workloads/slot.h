#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/operator.h"
#include "src/device/memory.h"
#include "workloads/batch_feed.h"

namespace ptbench {

/// What a program has once for each micro-batch that may be between its forward and its backward
/// pass, in the device's memory, and the operators that are bound to it.
struct Slot {
  Buffer labels;       ///< one a sample
  Buffer activations;  ///< in one piece, so that it lies on few, large pages
  Buffer saved;        ///< what operators keep from forward to backward
  std::span<float> loss;
  std::unique_ptr<BatchFeed> feed;
  std::vector<std::unique_ptr<Operator>> operators;  ///< one a step of the plan
};

}  // namespace ptbench
