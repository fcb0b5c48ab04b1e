#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

/// Convolutions as one-thread kernels on parts of the batch or of the channels.
///
/// Candidates are named "PARTITION forward=METHOD weights=METHOD data=METHOD" (data only where the
/// input's gradient is wanted). "batch": member m has part m of the samples, and the gradients that
/// all find are summed in the order of the members. "channels": member m has part m of the
/// channels, offered where the weights are large beside the images or the batch has fewer samples
/// than the team members. Methods are oneDNN's "direct" and, for 3×3 windows of stride 1,
/// "winograd" (oneDNN's F(4×4, 3×3) in f32, own F(2×2, 3×3) in bf16); "gemm" takes what these do
/// not.
///
/// The arena holds the weights as the weights pass writes their gradients; forward and data read
/// copies in the workspace where they want another layout or bf16.
[[nodiscard]] std::vector<std::string> conv2d_candidates(const Conv2dSpec& spec, int threads);

/// Null unless `candidate` is such a name and can be had.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_conv2d(const Conv2dSpec& spec,
                                                        std::string_view candidate, Team& team,
                                                        Isa isa);

}  // namespace ptbench
