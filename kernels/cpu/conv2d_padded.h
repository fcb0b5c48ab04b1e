#pragma once

#include <memory>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

// Convolutions where images lie channels last and kernels take whole blocks of channels only:
// computed as one of a native image whose channels, and the output's, are padded with zeros.
namespace ptbench::conv2d {

/// What is computed for `spec`: itself where that is no other.
[[nodiscard]] Conv2dSpec padded(const Conv2dSpec& spec);

/// `spec` by the plan of padded(spec): weights are padded on their way in, plain inputs are brought
/// into order in the saved memory.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_padded(const Conv2dSpec& spec,
                                                        std::unique_ptr<OperatorPlan> plan,
                                                        Team& team, Isa isa);

}  // namespace ptbench::conv2d
