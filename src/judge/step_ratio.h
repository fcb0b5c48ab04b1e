#pragma once

#include <optional>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

// How much longer the step of one run is than that of another.

/// Whether it ended well and has times, so that ratios can be made of it.
[[nodiscard]] bool has_times(const RunRecord& run);

/// Seconds of the mean step, which throughput is over; empty where that is not known.
[[nodiscard]] std::optional<double> step_of(const RunRecord& run);

/// The other run's mean step as it is beside this run's: in the turns that they had together, else
/// by itself.
[[nodiscard]] std::optional<double> step_beside(const RunRecord& run, const RunRecord& other);

/// Throughput over the other's, in the turns that they had together, else of each by itself. Both
/// have times.
[[nodiscard]] double speedup_over(const RunRecord& run, const RunRecord& other);

/// Which repetitions the ratios of two runs rest on.
struct TurnsTogether {
  RatioBasis basis = RatioBasis::apart;
  Size rounds = 0;  ///< in which both took turns, where that is the basis
};
/// Which repetitions the ratios of the two rest on: the clean ones that took turns with each other
/// and were placed alike, near or far, where there are at least `kLeastRepetitions`; else all that
/// did, clean or not; else those that speak for each by itself. Of unclean ones all slices count,
/// on either side.
[[nodiscard]] TurnsTogether turns_together(const RunRecord& run, const RunRecord& other);

/// Half the width of the 95 % interval of the logarithm of the ratio of both runs' step times;
/// empty where repetitions are too few. `in_rounds`: the k-th repetition of both was made in the
/// k-th round of a sweep.
[[nodiscard]] std::optional<double> ratio_half_width(const RunRecord& the_run,
                                                     const RunRecord& the_base, bool in_rounds,
                                                     const PriorNoise& prior);

/// The 95 % interval about a ratio of both runs' step times or throughputs; empty where
/// `ratio_half_width` is.
[[nodiscard]] std::optional<Interval> ratio_interval(double ratio, const RunRecord& the_run,
                                                     const RunRecord& the_base, bool in_rounds,
                                                     const PriorNoise& prior);

}  // namespace ptbench
