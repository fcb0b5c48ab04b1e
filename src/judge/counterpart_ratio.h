#pragma once

#include <span>
#include <string>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// Beside what a run of another engine is set.
struct EnginePlan {
  /// Id of the run of the same options by the first engine; empty: the run is of that one.
  std::string reference;
  bool in_rounds = false;  ///< the run's k-th repetition was made in the k-th round of the sweep
};

/// Sets `versus` of each of `runs` to which `plans` (as many, in their order) gives a reference,
/// and clears that of the others. The ratio is of mean steps: of repetitions that took turns with
/// the reference's and were placed alike, where there are 3 at least, clean or not; its interval is
/// made as that of `scaling` is. Runs have none that are not ok or have no times, or that another
/// engine than ptbench trained without having been compared with it (`verification`), and those
/// whose reference is so or is not among `runs`.
void add_engine_ratios(std::span<RunRecord> runs, std::span<const EnginePlan> plans,
                       const PriorNoise& prior);

/// Warns (`slower_than_fp32`) of each of `runs` in another precision whose step takes longer than
/// that of the same run in fp32 among them; of `amp` that is `serial`. The ratio is of mean steps,
/// with its interval as that of `scaling` is made where rounds do not count; nothing is said where
/// the interval is not known or contains 1. Where the ratio is known, it replaces what the run said
/// of this by itself.
void add_precision_warnings(std::span<RunRecord> runs, const PriorNoise& prior);

}  // namespace ptbench
