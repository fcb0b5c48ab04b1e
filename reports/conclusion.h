#pragma once

#include <string>

#include "src/judge/comparison.h"
#include "src/measure/record.h"

namespace ptbench {

/// What may be repeated of a result file, for each workload: which run is the fastest
/// (`ranking_of`), or that none can be called so; then how many times as fast as serial its fastest
/// run on several ranks is, against one replica's threads and against all cores, with 95 %
/// intervals, or that it cannot be told from these. Nothing is claimed without an interval, nor of
/// fewer than `kLeastRepetitions` clean repetitions of a run and of what it is compared with: then
/// it says that nothing reliable can be said. Names stand in backticks, with control characters as
/// \xNN and own backticks as apostrophes. Empty where the file has no runs.
[[nodiscard]] std::string conclusion_of(const ResultFile& file);

/// The same of a comparison: how much slower or faster NEW is in the run that changed most, with
/// its interval, or that it is as fast, or that it cannot be told.
[[nodiscard]] std::string conclusion_of(const Comparison& comparison);

}  // namespace ptbench
