#pragma once

#include <memory>

#include "kernels/operator.h"
#include "src/device/isa.h"

namespace ptbench {

/// A linear layer in f32 on one thread in own vector loops, for layers so small that a library call
/// would cost more than the work. Samples lie along the vector: x and y are kept transposed, in
/// rows of the batch rounded up to 16.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_linear_direct(const LinearSpec& spec, Isa isa);

}  // namespace ptbench
