#pragma once

#include <memory>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// max(0, x), each member its part of the elements; one member where more would not pay.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_relu(const ReluSpec& spec, Team& team, Isa isa);

}  // namespace ptbench
