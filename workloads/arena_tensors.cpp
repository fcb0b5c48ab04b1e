#include "workloads/arena_tensors.h"

#include "src/base/error.h"
#include "src/base/slice.h"

namespace ptbench {
std::vector<TensorGroup> tensor_groups(const ProgramPlan& plan) {
  std::vector<TensorGroup> found;
  const std::span<const ParameterSpec> tensors = plan.tensors();
  std::size_t next = 0;
  for (std::size_t step = 0; step < plan.steps().size(); ++step) {
    const OperatorSpec& spec = plan.graph().operators[step].spec;
    const std::size_t parameters = parameters_of(spec).size();
    const std::size_t statistics = buffers_of(spec).size();
    if (parameters + statistics > 0)
      found.push_back({.step = step,
                       .parameters = tensors.subspan(next, parameters),
                       .statistics = tensors.subspan(next + parameters, statistics)});
    next += parameters + statistics;
  }
  ensure(next == tensors.size(), "every tensor of a plan is an operator's");
  return found;
}

std::vector<std::vector<float>> export_arena(const ProgramPlan& plan, const TensorGroup& of,
                                             std::span<const float> arena) {
  std::vector<std::vector<float>> tensors;
  for (const ParameterSpec& tensor : of.parameters)
    tensors.emplace_back(static_cast<std::size_t>(tensor.shape.elements()));
  if (tensors.empty()) return tensors;
  const std::vector<std::span<float>> views(tensors.begin(), tensors.end());
  const ProgramPlan::Step& step = plan.steps()[of.step];
  step.plan->export_parameters(slice_of(arena, step.arena), views);
  return tensors;
}

void import_arena(const ProgramPlan& plan, const TensorGroup& of,
                  const std::vector<std::vector<float>>& tensors, std::span<float> arena) {
  if (tensors.empty()) return;
  const std::vector<std::span<const float>> views(tensors.begin(), tensors.end());
  const ProgramPlan::Step& step = plan.steps()[of.step];
  step.plan->import_parameters(views, slice_of(arena, step.arena));
}

std::span<const float> statistics_of(const ProgramPlan& plan, const TensorGroup& of,
                                     std::span<const float> statistics) {
  return slice_of(statistics, plan.steps()[of.step].buffers);
}

}  // namespace ptbench
