#pragma once

#include <vector>

#include "app/results/compare_options.h"
#include "app/results/comparison_files.h"
#include "src/base/exit_code.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// Compares NEW, `fresh`, which is not empty, with the history that `config` names; prints and
/// publishes the comparison, and adds NEW where that is asked for.
[[nodiscard]] ExitCode compare_with_history_file(const CompareConfig& config,
                                                 std::vector<ResultFile> fresh,
                                                 const PriorNoise& prior, ComparisonFiles& files);

}  // namespace ptbench
