#include "src/judge/history_levels.h"

#include <algorithm>

#include "src/judge/entry_change.h"
#include "src/judge/log_change.h"

namespace ptbench {
namespace {

/// Goes through entries from the oldest to the newest.
class LevelScan {
 public:
  /// Everything outlives the scan.
  LevelScan(std::span<const HistoryEntry> entries, const HistoryParts& parts, double detect,
            const PriorNoise& prior)
      : entries_(entries),
        window_(static_cast<std::size_t>(parts.window)),
        detect_(detect),
        prior_(prior),
        is_stray_(entries.size(), false) {}

  void take(std::size_t place) {
    if (entries_[place].accepted) {
      level_ = anchor_ = place;
      return;
    }
    const std::vector<std::size_t> before = last_before(place);
    const Verdict verdict = verdict_on(place, before);
    if (verdict != Verdict::slower && verdict != Verdict::faster) return;
    const std::size_t next = place + 1;
    const bool agree =
        next < entries_.size() && !entries_[next].accepted && verdict_on(next, before) == verdict;
    if (!agree) {
      is_stray_[place] = true;
      return;
    }
    level_ = place;
    if (verdict == Verdict::faster) anchor_ = place;
  }

  /// The last entries of the present level before `end`.
  [[nodiscard]] std::vector<std::size_t> last_before(std::size_t end) const {
    std::vector<std::size_t> places;
    for (std::size_t place = end; place-- > level_ && places.size() < window_;)
      if (!is_stray_[place]) places.push_back(place);
    std::ranges::reverse(places);
    return places;
  }

  [[nodiscard]] std::vector<std::size_t> all_since_anchor() const {
    std::vector<std::size_t> places;
    for (std::size_t place = anchor_; place < entries_.size(); ++place)
      if (!is_stray_[place]) places.push_back(place);
    return places;
  }

 private:
  [[nodiscard]] Verdict verdict_on(std::size_t place,
                                   const std::vector<std::size_t>& before) const {
    std::vector<LogTimes> times;
    for (const std::size_t other : before) times.push_back(entries_[other].times);
    const auto change = entry_change(times, entries_[place].times, prior_);
    return change ? verdict_of(*change, detect_) : Verdict::ambiguous;
  }

  std::span<const HistoryEntry> entries_;
  std::size_t window_;
  double detect_;
  const PriorNoise& prior_;
  std::vector<bool> is_stray_;
  std::size_t level_ = 0;   ///< first entry of the present level
  std::size_t anchor_ = 0;  ///< first entry that the anchor may have
};

}  // namespace

HistoryLevels history_levels(std::span<const HistoryEntry> entries, const HistoryParts& parts,
                             double detect, const PriorNoise& prior) {
  LevelScan scan(entries, parts, detect, prior);
  for (std::size_t place = 1; place < entries.size(); ++place) scan.take(place);
  HistoryLevels levels;
  levels.window = scan.last_before(entries.size());
  levels.anchor = scan.all_since_anchor();
  const auto anchor = static_cast<std::size_t>(parts.anchor);
  levels.anchor.resize(levels.anchor.size() > anchor ? anchor : 0);
  return levels;
}

}  // namespace ptbench
