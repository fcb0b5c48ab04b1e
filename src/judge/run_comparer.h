#pragma once

#include <span>

#include "src/base/function_ref.h"
#include "src/judge/comparison.h"
#include "src/judge/runs_by_id.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// Judges a run of equal work that was measured on both sides: fills in its change, verdict, reason
/// and p-value.
using JudgeRun =
    FunctionRef<void(const RunGroup& base, const RunGroup& fresh, RunComparison& result)>;

/// The comparison of two sides, but for how runs are judged: matches runs, finds what is missing,
/// new, failed or incomparable, and controls false discoveries.
[[nodiscard]] Comparison compare_runs(std::span<const ResultFile> base,
                                      std::span<const ResultFile> fresh,
                                      const CompareOptions& options, const PriorNoise& prior,
                                      JudgeRun judge);

}  // namespace ptbench
