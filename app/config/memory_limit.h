#pragma once

#include "app/config/configuration.h"
#include "src/base/size.h"
#include "workloads/graph.h"

namespace ptbench {

/// Refuses a run whose predicted memory is more than this process may still take: a usage error
/// with both figures, and the most ranks and the largest batch that would fit. Counts synthetic
/// data, which is yet to be made; real data lies in memory already.
void require_memory(const RunConfig& config, const Graph& graph);

/// The most that the parameters of `graph` take, however a backend blocks and pads their channels.
[[nodiscard]] Bytes padded_parameter_bytes(const Graph& graph);

}  // namespace ptbench
