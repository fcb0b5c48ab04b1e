#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/gradient_passes.h"
#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// Passes over the gradient arena in which each member works on what it owns.
[[nodiscard]] std::unique_ptr<GradientPasses> plan_cpu_gradient_passes(
    std::span<float> gradients, const std::vector<OwnedRange>& owned, Team& team, Isa isa);

}  // namespace ptbench
