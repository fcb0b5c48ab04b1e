#pragma once

#include <span>

#include "src/judge/comparison.h"
#include "src/judge/history_window.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

/// Compares `fresh`, NEW, with a history, as `compare` does but for its evidence: an entry is one
/// piece of it (`entry_change`), and NEW, of however many files, is one too.
///
/// Each run is held against the window; and against the anchor, which only finds what is slower:
/// then that decides, unless the window says slower too, or faster, which is ambiguous. Both
/// intervals are of 99 %.
[[nodiscard]] Comparison compare_with_history(const HistoryWindow& window,
                                              std::span<const ResultFile> fresh,
                                              const CompareOptions& options,
                                              const PriorNoise& prior);

}  // namespace ptbench
