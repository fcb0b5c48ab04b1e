#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "workloads/program.h"

namespace ptbench::testing {

/// Of every operator the candidate of this number, or the last one where it has fewer.
inline Choices choices_by(std::size_t candidate, const LoweredGraph& graph,
                          const KernelBackend& backend) {
  Choices choices;
  for (const LoweredOperator& lowered : graph.operators) {
    const std::vector<std::string> names = backend.candidates(lowered.spec);
    choices[key_of(lowered.spec)] = names[std::min(candidate, names.size() - 1)];
  }
  return choices;
}

/// Of every operator the first candidate.
inline Choices first_choices(const LoweredGraph& graph, const KernelBackend& backend) {
  return choices_by(0, graph, backend);
}

inline std::shared_ptr<const ProgramPlan> first_plan(const Graph& graph, const Lowering& lowering,
                                                     const KernelBackend& backend) {
  return std::make_shared<const ProgramPlan>(graph, lowering, backend,
                                             first_choices(lower(graph, lowering), backend));
}

}  // namespace ptbench::testing
