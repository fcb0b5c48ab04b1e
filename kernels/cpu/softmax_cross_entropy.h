#pragma once

#include <memory>

#include "kernels/operator.h"
#include "src/device/team.h"

namespace ptbench {

/// Softmax with cross-entropy, each member its part of the samples; the loss is summed in double,
/// in the order of the samples' parts. The gradient is rounded once, after the loss scale.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_softmax_cross_entropy(
    const SoftmaxCrossEntropySpec& spec, Team& team);

}  // namespace ptbench
