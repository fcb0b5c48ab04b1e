#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/judge/comparison.h"
#include "src/judge/history_levels.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// The part of a history that later results are compared with.
struct HistoryWindow {
  std::vector<ResultFile> entries;  ///< oldest first
  std::vector<ResultFile> anchor;   ///< oldest first
  /// Entries where a run was left out since the environment differs.
  LeftOut left_out;
  /// By id: entries of a run that were left out since its own circumstances differ.
  std::map<std::string, LeftOut> runs_left_out;
};

/// The part of a history that `fresh`, NEW, is held against, run by run. `entries` are oldest
/// first.
///
/// Entries that differ from NEW, or where none is like it from the newest one with that run, are
/// left out and counted, be it in the environment or in the run's circumstances (see
/// environment_differences.h), unless `options` ignores environments. What an entry does not know
/// is taken from the next older one. Of the others, `history_levels` says which count. Runs that
/// the newest entry lacks or skipped are left out too, if it has others of the same history: that
/// they are missing was accepted. Entries without a run left are dropped.
[[nodiscard]] HistoryWindow history_window(std::vector<ResultFile> entries,
                                           std::span<const ResultFile> fresh,
                                           const HistoryParts& parts, const CompareOptions& options,
                                           const PriorNoise& prior);

/// Adds to a comparison with a window which entries were left out for their circumstances.
void add_left_out(const HistoryWindow& window, Comparison& comparison);

}  // namespace ptbench
