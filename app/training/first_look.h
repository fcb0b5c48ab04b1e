#pragma once

#include "app/config/run_progress.h"
#include "app/training/training_setup.h"
#include "kernels/choose.h"
#include "src/process/progress.h"
#include "strategies/conductor.h"

namespace ptbench {

/// Whether a step of that many operations on so many cores is short enough for a first look not to
/// keep anybody waiting.
[[nodiscard]] bool is_short_step(double flops, Size cores);

/// Trains a copy for a fifth of a second, half a second at most, with `guessed` operators, and
/// keeps the throughput on the line of progress, as one that nothing vouches for: a figure for who
/// waits while operators are chosen and the run is verified. Nothing of it gets into a record. All
/// ranks call it, with equal choices; the progress is rank 0's.
void take_first_look(const RankRole& role, const TrainingContext& context,
                     const TrainingShape& shape, const Choices& guessed, RunProgress& watch,
                     Progress& progress);

}  // namespace ptbench
