#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// Linear layers as a grid of oneDNN inner products, each on one thread. Outputs are cut into
/// `columns` chunks and samples into `rows` blocks; member r·columns + c works on block r and
/// chunk c. A chunk's weights and biases are one contiguous piece of the arena that only its own
/// members read and write, so that with rows = 1 no weight ever crosses between cores.
///
/// In bf16 the arena stays f32, in the layout of the weights' gradient; the other passes read bf16
/// copies in the prepared memory, and what chunks add to one gradient of x is added in f32.
///
/// Candidates are named "onednn LAYOUT ROWSxCOLUMNS". Those that oneDNN has no optimised kernel for
/// are left out.
[[nodiscard]] std::vector<std::string> linear_grid_candidates(const LinearSpec& spec, int threads);

/// Null unless `candidate` is such a name and can be had.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_linear_grid(const LinearSpec& spec,
                                                             std::string_view candidate, Team& team,
                                                             Isa isa);

}  // namespace ptbench
