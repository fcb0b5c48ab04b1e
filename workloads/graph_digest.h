#pragma once

#include <string>

#include "workloads/graph.h"

namespace ptbench {

/// 16 hexadecimal digits over what a model computes: input shape, classes, layers with their
/// parameters and how these are drawn, who feeds whom, and the loss. Names of layers have no part
/// in it, nor has the host: equal digests are equal work.
[[nodiscard]] std::string graph_digest(const Graph& graph);

}  // namespace ptbench
