#pragma once

#include "app/config/configuration.h"
#include "app/config/run_progress.h"
#include "src/device/topology.h"
#include "src/measure/record.h"

namespace ptbench {

/// One run, from data to accuracy: fills `record` as it goes, so that what was measured survives
/// whatever ends it. An interruption leaves status interrupted; a step that fails leaves status
/// failed; errors of the user or the environment are thrown.
void train_and_measure(const RunConfig& config, const Topology& topology,
                       const RunSurroundings& surroundings, RunRecord& record);

}  // namespace ptbench
