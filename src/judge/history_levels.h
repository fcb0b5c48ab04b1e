#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/base/size.h"
#include "src/measure/prior_noise.h"
#include "src/measure/repetition_times.h"

namespace ptbench {

/// How much of a history later results are held against.
struct HistoryParts {
  Size window = 10;  ///< the last entries
  Size anchor = 3;   ///< the first entries
};

/// A run in an entry of a history.
struct HistoryEntry {
  LogTimes times;
  bool accepted = false;  ///< it was slower, and that was accepted
};

/// Entries by their places, ascending.
struct HistoryLevels {
  std::vector<std::size_t> window;
  std::vector<std::size_t> anchor;  ///< empty where there are no entries but those of the anchor
};

/// Which entries of a run, oldest first, tell what it usually takes.
///
/// The window is the last entries since the run last changed. It changed where a change was
/// accepted, and where two entries, one after the other, are both slower or both faster than those
/// before them (`entry_change`, by the rule of `verdict_of`). One alone, as the newest is at first,
/// is a stray: it counts for nothing, so that one lucky entry is not what all others are held
/// against.
///
/// The anchor is the first entries since a change was accepted or the run became faster. Entries
/// that became slower without being accepted leave it where it is: that is creep.
[[nodiscard]] HistoryLevels history_levels(std::span<const HistoryEntry> entries,
                                           const HistoryParts& parts, double detect,
                                           const PriorNoise& prior);

}  // namespace ptbench
