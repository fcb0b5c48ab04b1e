#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "app/config/run_options.h"
#include "app/session/sweep.h"
#include "app/session/sweep_grid.h"
#include "src/base/size.h"

namespace ptbench {

// How long measuring is going to take, as far as it can be told before anything has run: for people
// who wonder whether to wait. Choosing operators and verifying come on top.

/// Operations of a step; 0 where they are not known, as of a program.
[[nodiscard]] double operations_of_step(const RunConfig& config);

/// Seconds of a sweep, or of the first looks of a gate.
[[nodiscard]] double expected_seconds(std::span<const SweepRow> rows, std::size_t sides,
                                      const SweepLength& length);

/// Seconds of a run of `repetitions` processes, each of which measures `least_seconds` at least and
/// `most_seconds` at the most.
[[nodiscard]] double expected_seconds(const RunConfig& config, Size repetitions,
                                      double least_seconds, double most_seconds);

}  // namespace ptbench
