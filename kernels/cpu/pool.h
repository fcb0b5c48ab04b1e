#pragma once

#include <memory>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// Maximum and average pools of native images, each member its samples. A maximum remembers where
/// in its window it was found; of several NaN the last counts, as in PyTorch.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_pool(const PoolSpec& spec, Team& team, Isa isa);

}  // namespace ptbench
