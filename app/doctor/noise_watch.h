#pragma once

#include <vector>

#include "app/doctor/doctor.h"

namespace ptbench {

/// Measures short repetitions of the `mlp` step, each in a fresh process, for about `seconds`, and
/// says what a benchmark on this machine can resolve and what disturbs it. What is learnt of
/// placements that nothing is known of is kept (NoiseStore). Progress goes to standard error. A
/// signal ends it early: a finding then has the state `interrupted`, or, before anything was
/// measured, an error with exit code 130 is thrown. Throws run_error where no repetition could be
/// measured.
[[nodiscard]] std::vector<FindingGroup> watch_noise(double seconds);

}  // namespace ptbench
