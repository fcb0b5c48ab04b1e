#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/arena_passes.h"
#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// Passes over an arena in which each member works on what it owns.
[[nodiscard]] std::unique_ptr<ArenaPasses> plan_cpu_arena_passes(
    std::span<float> arena, const std::vector<OwnedRange>& owned, Team& team, Isa isa);

}  // namespace ptbench
