#pragma once

#include <vector>

#include "src/app/doctor.h"

namespace ptbench {

/// Measures short repetitions of the `mlp` step, each in a fresh process, for about `seconds`, and
/// says what a benchmark on this machine can resolve and what disturbs it. What was learnt is kept
/// for later comparisons (NoiseStore). Progress goes to standard error. Throws run_error where no
/// repetition could be measured.
[[nodiscard]] std::vector<FindingGroup> watch_noise(double seconds);

}  // namespace ptbench
