#pragma once

#include <span>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// Warns (`slower_than_fp32`) of each of `runs` in another precision whose step takes longer than
/// that of the same run in fp32 among them; of `amp` that is `serial`. The ratio is of mean steps,
/// with its interval as that of `scaling` is made where rounds do not count; nothing is said where
/// the interval is not known or contains 1. Where the ratio is known, it replaces what the run said
/// of this by itself.
void add_precision_warnings(std::span<RunRecord> runs, const PriorNoise& prior);

}  // namespace ptbench
