#include "src/measure/history_window.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <span>
#include <string>

#include "src/measure/log_change.h"
#include "src/measure/runs_by_id.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

const RunRecord* find_run(const ResultFile& entry, const std::string& id) {
  const auto found = std::ranges::find(entry.runs, id, &RunRecord::id);
  return found == entry.runs.end() ? nullptr : &*found;
}

/// Goes back in time through entries, and says what of them still counts.
class Window {
 public:
  /// Everything outlives the window.
  Window(const ResultFile& newest, std::span<const ResultFile> older, double detect,
         const PriorNoise& prior)
      : newest_(newest), detect_(detect), estimate_(prior) {
    succeeds_ = std::ranges::any_of(older, [&](const ResultFile& entry) {
      return std::ranges::any_of(
          entry.runs, [&](const RunRecord& run) { return find_run(newest, run.id) != nullptr; });
    });
  }

  /// To be asked from the newest entry to the oldest.
  [[nodiscard]] bool keeps(const RunRecord& run) {
    Pool& pool = pools_[run.id];
    if (!pool.open || was_given_up(run.id)) return false;
    if (!was_measured(run)) return true;
    const LogTimes times = clean_log_times(run.samples);
    if (const auto change = estimate_(times, pool.times)) {
      const Verdict verdict = verdict_of(*change, detect_);
      pool.open = verdict != Verdict::slower && verdict != Verdict::faster;
    }
    if (!pool.open) return false;
    for (const auto& [placement, values] : times) {
      std::vector<double>& pooled = pool.times[placement];
      pooled.insert(pooled.end(), values.begin(), values.end());
    }
    return true;
  }

 private:
  /// What was measured of a run since it last changed.
  struct Pool {
    LogTimes times;
    bool open = true;  ///< until an entry does not belong to it
  };

  [[nodiscard]] bool was_given_up(const std::string& id) const {
    const RunRecord* const run = find_run(newest_, id);
    return succeeds_ && (run == nullptr || run->status == Status::skipped);
  }

  const ResultFile& newest_;
  double detect_;
  ChangeEstimator estimate_;
  std::map<std::string, Pool> pools_;
  bool succeeds_ = false;  ///< whether the newest entry has runs that older ones have
};

}  // namespace

std::vector<ResultFile> history_window(std::vector<ResultFile> entries,
                                       const CompareOptions& options, const PriorNoise& prior) {
  const auto has_no_runs = [](const ResultFile& entry) { return entry.runs.empty(); };
  std::erase_if(entries, has_no_runs);
  if (entries.empty()) return entries;
  const ResultFile newest = entries.back();
  Window window(newest, std::span(entries).first(entries.size() - 1), options.detect, prior);
  for (ResultFile& entry : std::views::reverse(entries))
    std::erase_if(entry.runs, [&](const RunRecord& run) { return !window.keeps(run); });
  std::erase_if(entries, has_no_runs);
  return entries;
}

}  // namespace ptbench
