#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

// The operators on the CPU: whoever adds a spec declares how it is planned here, and defines it in
// a file of its own. Teams outlive plans and their operators.
namespace ptbench {

// Operators that are computed in several ways: the candidates, the safest bet first, and the plan
// of one, null where there is no such candidate.

/// The candidates of linear_grid.h, linear_pairs.h and linear_direct.h.
[[nodiscard]] std::vector<std::string> candidates_of(const LinearSpec& spec, int threads);
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const LinearSpec& spec,
                                                          std::string_view candidate, Team& team,
                                                          Isa isa);

/// Convolutions as one-thread kernels on parts of the batch or of the channels.
///
/// Candidates are named "PARTITION forward=METHOD weights=METHOD data=METHOD" (data only where the
/// input's gradient is wanted). "batch": member m has part m of the samples, and the gradients that
/// all find are summed in the order of the members. "channels": member m has part m of the
/// channels, offered where the weights are large beside the images or the batch has fewer samples
/// than the team members. Methods are oneDNN's "direct"; for 3×3 windows of stride 1, in f32 also
/// of stride 2, "winograd" (own: F(4×4, 3×3) in f32, F(2×2, 3×3) in bf16), and in bf16
/// "winograd-widened", which multiplies in f32; where images lie channels last "amx" (own products)
/// in place of these; "gemm" takes what these do not.
///
/// The arena holds the weights as the weights pass writes their gradients; forward and data read
/// copies in the prepared memory where they want another layout or bf16.
[[nodiscard]] std::vector<std::string> candidates_of(const Conv2dSpec& spec, int threads);
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const Conv2dSpec& spec,
                                                          std::string_view candidate, Team& team,
                                                          Isa isa);

// Operators that are computed in one way.

/// Batch normalisation of native images with addition and ReLU in the same passes, each member its
/// samples. Parameters: γ of all channels, padded with zeros to whole blocks, then β likewise.
/// Sums run in a fixed order, single precision within 64 pixels and double beyond.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const BatchNormSpec& spec, Team& team,
                                                          Isa isa);

// Operators that take every element by itself, on tensors of any format: of native ones the padding
// is computed too, and stays zero. Members take whole samples of images, and whole vectors of plain
// tensors; one member takes all where more would not pay.

/// max(0, x); NaN stays NaN.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const ReluSpec& spec, Team& team,
                                                          Isa isa);
/// x·Φ(x) with a relative error of a few units of single precision, negative tail included.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const GeluSpec& spec, Team& team,
                                                          Isa isa);
/// a + b.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const AddSpec& spec, Team& team, Isa isa);
/// Nothing forward; backward the sum of the terms, in f32 and in their order, rounded once.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const ForkSpec& spec, Team& team,
                                                          Isa isa);

/// Maximum and average pools of native images, each member its samples. A maximum remembers where
/// in its window it was found; of several NaN the last counts, as in PyTorch.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const PoolSpec& spec, Team& team,
                                                          Isa isa);

/// A tensor in another format, type or both; backward the same the other way round. The native
/// tensor tells the image (a native one of two dimensions has one pixel); two native tensors must
/// be of the same image.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const ReorderSpec& spec, Team& team,
                                                          Isa isa);

/// Softmax with cross-entropy, each member its part of the samples; the loss is summed in double,
/// in the order of the samples' parts. The gradient is rounded once, after the loss scale.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const SoftmaxCrossEntropySpec& spec,
                                                          Team& team, Isa isa);

}  // namespace ptbench
