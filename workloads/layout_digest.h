#pragma once

#include <cstdint>

#include "kernels/operator.h"
#include "workloads/program.h"

namespace ptbench {

/// Equal for plans of one operator's kind that keep equal parameters in equal arenas: gradients of
/// one may be added to those of the other. 0 for an operator without parameters.
[[nodiscard]] std::uint64_t layout_digest(const OperatorSpec& spec, const OperatorPlan& plan);

/// The same of all operators of a program, in their order.
[[nodiscard]] std::uint64_t layout_digest(const ProgramPlan& plan);

}  // namespace ptbench
