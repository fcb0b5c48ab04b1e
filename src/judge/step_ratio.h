#pragma once

#include <optional>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

// How much longer the step of one run is than that of another.

/// Seconds of the mean step, which throughput is over; empty where that is not known.
[[nodiscard]] std::optional<double> step_of(const RunRecord& run);

/// The other run's mean step as it is beside this run's: in the turns that they had together, else
/// by itself.
[[nodiscard]] std::optional<double> step_beside(const RunRecord& run, const RunRecord& other);

/// Half the width of the 95 % interval of the logarithm of the ratio of both runs' step times;
/// empty where repetitions are too few. `in_rounds`: the k-th repetition of both was made in the
/// k-th round of a sweep.
[[nodiscard]] std::optional<double> ratio_half_width(const RunRecord& the_run,
                                                     const RunRecord& the_base, bool in_rounds,
                                                     const PriorNoise& prior);

}  // namespace ptbench
