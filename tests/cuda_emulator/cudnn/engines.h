#pragma once

#include <cudnn_graph.h>

#include <array>
#include <cstdint>
#include <vector>

#include "tests/cuda_emulator/cudnn/descriptor.h"
#include "tests/cuda_emulator/cudnn/graph.h"

// The engines that the emulation pretends to have, one for each thing that callers have to cope
// with; configurations of them, heuristics and plans. All compute the same, but for the roundings
// of an engine that does not repeat.

namespace ptbench::emulator {

struct Engine {
  std::int64_t index = 0;
  bool has_plans = true;       ///< else its configurations are fine, and no plan is
  bool repeats = true;         ///< else every second run adds up in another order
  bool rounds_inputs = false;  ///< f32 to tf32
  std::int64_t workspace_bytes = 0;
  bool has_knob = false;     ///< CUDNN_KNOB_TYPE_STAGES, from 1 to 4
  bool is_fallback = false;  ///< heuristics of that mode name it
  bool compiles = false;     ///< for graphs that no other engine takes

  /// What it says of its results.
  [[nodiscard]] std::vector<cudnnBackendNumericalNote_t> notes(const Graph& graph) const;
  [[nodiscard]] bool takes(const Graph& graph) const;
};

/// What a plan was made of.
struct Plan {
  Graph graph;
  Engine engine;
};
/// Of an execution plan's descriptor.
[[nodiscard]] Plan plan_of(const Descriptor& descriptor);

/// Throws Refusal where an ENGINE, ENGINECFG, ENGINEHEUR, KNOB_CHOICE or EXECUTION_PLAN is not
/// right, or not to be had.
void check_engine_descriptor(const Descriptor& descriptor);
/// More configurations than heuristics ever give: what they say when they are asked how many.
[[nodiscard]] std::int64_t most_results();
/// Attributes of those and of graphs that are only got.
[[nodiscard]] Values engine_result(const Descriptor& descriptor, Descriptor::Name name);

}  // namespace ptbench::emulator
