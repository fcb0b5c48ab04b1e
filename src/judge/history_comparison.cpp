#include "src/judge/history_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "src/base/units.h"
#include "src/judge/ambiguity.h"
#include "src/judge/entry_change.h"
#include "src/judge/judgement.h"
#include "src/judge/run_comparer.h"

namespace ptbench {
namespace {

using Entries = std::span<const RunRecord* const>;

/// The times of one run, each of an entry.
std::vector<LogTimes> times_of_entries(Entries entries, Statistic statistic) {
  std::vector<LogTimes> times;
  for (const RunRecord* entry : entries)
    times.push_back(by_class(times_of(entry->samples, statistic)));
  return times;
}

ReferenceChange reference_of(Entries entries, const StepChange& step) {
  const LogChange& change = step.typical;
  return {.entries = std::ssize(entries),
          .change = std::expm1(change.estimate),
          .interval = {.low = std::expm1(change.estimate - change.half_width),
                       .high = std::expm1(change.estimate + change.half_width)}};
}

Size clean_count(Entries entries) {
  Size count = 0;
  for (const RunRecord* entry : entries)
    for (const auto& [placement, times] : clean_log_times(entry->samples))
      count += std::ssize(times);
  return count;
}

/// "the anchor, the first 3 entries".
std::string anchor_text(Entries anchor) {
  return fmt::format("the anchor, the first {} entries", anchor.size());
}

/// Judges runs of a history by its entries.
class HistoryJudge {
 public:
  /// Everything outlives the judge.
  HistoryJudge(const RunsById& anchors, double detect, const PriorNoise& prior)
      : anchors_(anchors), detect_(detect), prior_(prior) {}

  void operator()(const RunGroup& base, const RunGroup& fresh, RunComparison& result) const {
    const RunGroup* const anchor = anchors_.find(base.run().id);
    const Entries anchor_parts = anchor == nullptr ? Entries() : anchor->parts();
    const auto of_window = step_change(base.parts(), fresh.run());
    if (!of_window) {
      const SamplesRecord& base_samples = base.run().samples;
      const SamplesRecord& new_samples = fresh.run().samples;
      result.verdict = Verdict::ambiguous;
      result.reason = why_too_few({base_samples, clean_log_times(base_samples)},
                                  {new_samples, clean_log_times(new_samples)});
      return;
    }
    result.decided_by = Reference::window;
    result.window = reference_of(base.parts(), *of_window);
    describe_change(*of_window, result);
    Judgement judgement = judge_step(*of_window, detect_);
    result.deciding = deciding_change(*of_window, judgement);
    if (const auto of_anchor = step_change(anchor_parts, fresh.run())) {
      result.anchor = reference_of(anchor_parts, *of_anchor);
      judgement = with_anchor(judgement, *of_anchor, anchor_parts, result);
    }
    result.verdict = judgement.verdict;
    result.reason = judgement.reason;
    result.p_value = judgement.p_value;
  }

 private:
  [[nodiscard]] std::optional<LogChange> change_of(Entries entries, const RunRecord& fresh,
                                                   Statistic statistic,
                                                   const IntervalRule& rule) const {
    return entry_change(times_of_entries(entries, statistic),
                        by_class(times_of(fresh.samples, statistic)), prior_, rule);
  }

  [[nodiscard]] std::optional<StepChange> step_change(Entries entries,
                                                      const RunRecord& fresh) const {
    std::vector<const SamplesRecord*> all{&fresh.samples};
    for (const RunRecord* entry : entries) all.push_back(&entry->samples);
    const ComparedBy by = compared_by(all);
    auto typical = change_of(entries, fresh, by.typical, kTypicalRule);
    if (!typical) return {};
    StepChange step{.by = by, .typical = std::move(*typical)};
    if (by.whole) step.whole = change_of(entries, fresh, *by.whole, kMeanRule);
    return step;
  }

  /// What is said of a run where the window says `of_window`.
  [[nodiscard]] Judgement with_anchor(const Judgement& of_window, const StepChange& change,
                                      Entries anchor, RunComparison& result) const {
    const Judgement of_anchor = judge_step(change, detect_);
    if (of_anchor.verdict != Verdict::slower || of_window.verdict == Verdict::slower)
      return of_window;
    result.decided_by = Reference::anchor;
    if (of_window.verdict == Verdict::faster)
      return {.reason = fmt::format("faster than the last {} entries, but slower than {}, by {}",
                                    result.window->entries, anchor_text(anchor),
                                    format_percent(result.anchor->change))};
    describe_change(change, result);
    result.deciding = deciding_change(change, of_anchor);
    result.base_repetitions = clean_count(anchor);
    std::string reason =
        fmt::format("slower than {}; against the last {} entries {:+.1f} %", anchor_text(anchor),
                    result.window->entries, 100 * result.window->change);
    if (!of_anchor.reason.empty()) reason += "; " + of_anchor.reason;
    return {.verdict = Verdict::slower,
            .reason = std::move(reason),
            .p_value = std::min(of_window.p_value, of_anchor.p_value)};
  }

  const RunsById& anchors_;
  double detect_;
  const PriorNoise& prior_;
};

}  // namespace

Comparison compare_with_history(const HistoryWindow& window, std::span<const ResultFile> fresh,
                                const CompareOptions& options, const PriorNoise& prior) {
  const RunsById anchors(window.anchor, prior, Parts::measured);
  const HistoryJudge judge(anchors, options.detect, prior);
  return compare_runs(window.entries, fresh, options, prior, judge);
}

}  // namespace ptbench
