#pragma once

#include "app/config/configuration.h"
#include "app/config/run_progress.h"
#include "src/measure/record.h"

namespace ptbench {

/// One repetition of a user's program, `config.program`: starts it, warms it up, measures slices or
/// turns, asks for its phases where this is the first repetition, and ends it; nothing of it is
/// left. Fills `record` as train_and_measure does. Throws a run error where the program fails or
/// speaks otherwise than docs/steps_protocol.md says; what was measured by then is
/// lost, unless it fails after its last slice.
void measure_program(const RunConfig& config, const RunSurroundings& around, RunRecord& record);

}  // namespace ptbench
