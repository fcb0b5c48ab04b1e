#pragma once

#include "app/config/configuration.h"
#include "app/config/run_progress.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// Measures `config` by fresh processes into `record`, which is begun: says how long that takes,
/// and how far it has come. Throws what the processes were refused before they measured anything.
void measure_by_processes(const RunConfig& config, const PriorNoise& prior,
                          const RunSurroundings& around, RunRecord& record);

}  // namespace ptbench
