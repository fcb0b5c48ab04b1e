#pragma once

#include <memory>

#include "workloads/program.h"

namespace ptbench::testing {

/// Of every operator the first candidate.
inline Choices first_choices(const LoweredGraph& graph, const KernelBackend& backend) {
  Choices choices;
  for (const LoweredOperator& lowered : graph.operators)
    choices[key_of(lowered.spec)] = backend.candidates(lowered.spec).front();
  return choices;
}

inline std::shared_ptr<const ProgramPlan> first_plan(const Graph& graph, const Lowering& lowering,
                                                     const KernelBackend& backend) {
  return std::make_shared<const ProgramPlan>(graph, lowering, backend,
                                             first_choices(lower(graph, lowering), backend));
}

}  // namespace ptbench::testing
