#pragma once

#include <vector>

#include "src/measure/comparison.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// The part of a history that is like its newest entry, so that a change that was accepted is not
/// averaged with what was before it. `entries` are oldest first, and so is the result.
///
/// For each run: from its newest measurement back, entries are pooled until one is faster or slower
/// than what was pooled so far, by the rule of `compare` and whatever the environments; that
/// entry's run and all older ones are left out. Runs that the newest entry lacks or skipped are
/// left out too, if it has others of the same history: that they are missing was accepted. Entries
/// of which nothing is left are dropped.
[[nodiscard]] std::vector<ResultFile> history_window(std::vector<ResultFile> entries,
                                                     const CompareOptions& options,
                                                     const PriorNoise& prior);

}  // namespace ptbench
