#pragma once

#include "src/measure/record.h"

namespace ptbench {

/// Takes every duration and rate off the record of a run on an emulated device: they tell how fast
/// the emulation is. What was computed stays.
void leave_out_durations(RunRecord& run);

}  // namespace ptbench
