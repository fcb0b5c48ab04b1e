#pragma once

#include <memory>
#include <vector>

#include "kernels/optimizer.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// One fused pass over the arenas in which each member updates what it owns.
[[nodiscard]] std::unique_ptr<Optimizer> plan_cpu_optimizer(const OptimizerSpec& spec,
                                                            const OptimizerArenas& arenas,
                                                            const std::vector<OwnedRange>& owned,
                                                            Team& team, Isa isa);

}  // namespace ptbench
