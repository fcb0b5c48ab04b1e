#pragma once

#include <string_view>

#include "src/base/clock.h"
#include "src/comm/shared_region.h"
#include "src/config/configuration.h"
#include "src/config/run_files.h"
#include "src/device/topology.h"
#include "src/measure/record.h"
#include "src/process/interrupt.h"
#include "src/process/progress.h"

namespace ptbench {

/// With which a rank that a signal interrupted gives up.
inline constexpr std::string_view kInterruptedReason = "it was interrupted by a signal";

/// What a run talks to while it works; everything outlives it.
struct RunSurroundings {
  const Clock& clock;
  InterruptWatch& interrupt;
  Progress& progress;
  RunFiles& files;
  const SharedRegion* region = nullptr;  ///< of the ranks that this process is one of
};

/// One run, from data to accuracy: fills `record` as it goes, so that what was measured survives
/// whatever ends it. An interruption leaves status interrupted; a step that fails leaves status
/// failed; errors of the user or the environment are thrown.
void train_and_measure(const RunConfig& config, const Topology& topology,
                       const RunSurroundings& surroundings, RunRecord& record);

}  // namespace ptbench
