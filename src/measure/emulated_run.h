#pragma once

#include "src/measure/record.h"

namespace ptbench {

/// Takes every duration and rate off the record of a run on an emulated device: they tell how fast
/// the emulation is. What was computed stays; and what devices told of heat, throttling and other
/// processes, as one slice of no samples, clean where they told nothing that is against it.
void leave_out_durations(RunRecord& run);

}  // namespace ptbench
