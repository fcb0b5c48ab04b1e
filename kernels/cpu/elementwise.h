#pragma once

#include <memory>

#include "kernels/operator.h"
#include "src/device/isa.h"
#include "src/device/team.h"

namespace ptbench {

// Operators that take every element by itself, on tensors of any format: of native ones the padding
// is computed too, and stays zero. Members take whole samples of images, and whole vectors of plain
// tensors; one member takes all where more would not pay.

/// max(0, x); NaN stays NaN.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_relu(const ReluSpec& spec, Team& team, Isa isa);

/// x·Φ(x) with a relative error of a few units of single precision, negative tail included.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_gelu(const GeluSpec& spec, Team& team, Isa isa);

/// a + b.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_add(const AddSpec& spec, Team& team, Isa isa);

/// Nothing forward; backward the sum of the terms, in f32 and in their order, rounded once.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_fork(const ForkSpec& spec, Team& team, Isa isa);

}  // namespace ptbench
