#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/program.h"

namespace ptbench {

/// One operator of a program that has parameters or running statistics. Views into the plan, which
/// outlives it.
struct TensorGroup {
  std::size_t step = 0;  ///< its place in ProgramPlan::steps()
  std::span<const ParameterSpec> parameters;
  std::span<const ParameterSpec> statistics;
};

/// The operators that have any, in forward order: the same for every plan of a graph, whatever its
/// type, batch and layouts.
[[nodiscard]] std::vector<TensorGroup> tensor_groups(const ProgramPlan& plan);

/// Row-major values of the operator's parameters, or of what lies like them in an arena of this
/// plan, as a HostMirror has it: gradients, optimizer state. One vector a tensor, in the order of
/// `of.parameters`.
[[nodiscard]] std::vector<std::vector<float>> export_arena(const ProgramPlan& plan,
                                                           const TensorGroup& of,
                                                           std::span<const float> arena);
/// The inverse of export_arena; padding of the arena stays as it is.
void import_arena(const ProgramPlan& plan, const TensorGroup& of,
                  const std::vector<std::vector<float>>& tensors, std::span<float> arena);

/// The operator's part of `statistics`, all running statistics of a program, tensor after tensor.
[[nodiscard]] std::span<const float> statistics_of(const ProgramPlan& plan, const TensorGroup& of,
                                                   std::span<const float> statistics);

}  // namespace ptbench
