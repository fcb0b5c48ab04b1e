#pragma once

#include "app/config/configuration.h"
#include "app/training/training_run.h"
#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// The memory that each rank of `config` brings, for SharedRegion::create. Addresses, not memory:
/// pages appear when they are touched.
[[nodiscard]] Bytes bytes_per_rank(const RunConfig& config);

/// A run whose ranks are processes: starts them, this program once a rank, and fills `record` with
/// what rank 0 measured. A rank that fails ends all of them; where that is a failure of the
/// configuration the record says so, other errors are thrown. No process is left.
void measure_on_ranks(const RunConfig& config, const Topology& topology,
                      const RunSurroundings& around, RunRecord& record);

}  // namespace ptbench
