#pragma once

#include <span>
#include <string>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// One record from several of one configuration (equal ids, at least one), each measured by its own
/// processes: repetitions, slices and samples one after the other and numbered anew, warnings once
/// each, the largest peaks of those that measured anything, phases, losses, and
/// accuracy of the first that has them. A record that failed or was interrupted decides the status,
/// and its reason is kept; what the others measured stays. The worst verification counts, and where
/// one failed nothing measured stays. The figures are those of `summarize_run`.
[[nodiscard]] RunRecord pool_runs(std::span<const RunRecord> runs, const PriorNoise& prior);

/// `run` failed, for that reason: it computes something else than serial training. Nothing that
/// was measured of it stays, since what is wrong is not fast.
void fail_verification(RunRecord& run, const std::string& reason);

}  // namespace ptbench
