#pragma once

#include <memory>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// Batch normalisation of native images with addition and ReLU in the same passes, each member its
/// samples. Parameters: γ of all channels, padded with zeros to whole blocks, then β likewise.
/// Sums run in a fixed order, single precision within 64 pixels and double beyond.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_batch_norm(const BatchNormSpec& spec, Team& team,
                                                            Isa isa);

}  // namespace ptbench
