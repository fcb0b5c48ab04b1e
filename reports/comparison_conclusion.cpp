#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "reports/comparison_parts.h"
#include "reports/conclusion.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

/// The change that decided, with its interval.
struct Change {
  double share = 0;  ///< of the step time, above 0: slower
  std::optional<Interval> interval;
  double level = 0.99;
  bool is_of_mean = false;
  bool in_cycles = false;
};

std::string_view clock_text(bool in_cycles) { return in_cycles ? ", at BASE's clock," : ""; }

bool is_apart_from_zero(const std::optional<Interval>& interval, bool above) {
  return interval && (above ? interval->low > 0 : interval->high < 0);
}

/// A run may be slower in its mean step alone.
Change change_of(const RunComparison& run) {
  constexpr double kMeanLevel = 0.999;  // pairs in lockstep have one level for both
  const bool is_slower = run.verdict == Verdict::slower;
  if (run.mean_change && is_apart_from_zero(run.mean_change_ci999, is_slower) &&
      !is_apart_from_zero(run.change_ci99, is_slower))
    return {.share = *run.mean_change,
            .interval = run.mean_change_ci999,
            .level = run.pairs > 0 ? run.interval_level : kMeanLevel,
            .is_of_mean = true,
            .in_cycles = run.in_cycles};
  return {.share = run.change.value_or(0),
          .interval = run.change_ci99,
          .level = run.interval_level,
          .is_of_mean = false,
          .in_cycles = run.in_cycles};
}

/// "5.0 % longer (99 %: 4.1 % to 5.9 %)", "5.0 % less (…)".
std::string change_text(const Change& change) {
  const bool is_slower = change.share > 0;
  std::string text =
      fmt::format("{} {}", percent_text(std::abs(change.share)), is_slower ? "longer" : "less");
  if (!change.interval) return text;
  const Interval shown =
      is_slower ? *change.interval
                : Interval{.low = -change.interval->high, .high = -change.interval->low};
  return text + fmt::format(" ({:.5g} %: {} to {})", 100 * change.level, percent_text(shown.low),
                            percent_text(shown.high));
}

/// " in 2 of 3 runs"; nothing where there is one run.
std::string runs_text(std::size_t some, std::size_t all) {
  if (all == 1) return {};
  if (some == all) return all == 2 ? " in both runs" : fmt::format(" in all {} runs", all);
  return fmt::format(" in {} of {} runs", some, all);
}

/// Of the runs with that verdict, the one that changed most.
const RunComparison& most_changed(const Comparison& comparison, Verdict verdict) {
  const auto rank = [verdict](const RunComparison& run) {
    return run.verdict == verdict ? std::abs(change_of(run).share) : -1.0;
  };
  return *std::ranges::max_element(comparison.runs, {}, rank);
}

std::string changed_sentence(const Comparison& comparison, Verdict verdict) {
  const RunComparison& run = most_changed(comparison, verdict);
  const Change change = change_of(run);
  const std::size_t count = count_of(comparison, verdict);
  const std::string_view step = change.is_of_mean ? "mean step" : "step";
  if (comparison.runs.size() == 1)
    return fmt::format("a {} of NEW takes{} {} than one of BASE", step,
                       clock_text(change.in_cycles), change_text(change));
  std::string id = single_line(run.id);
  std::ranges::replace(id, '`', '\'');
  return fmt::format("NEW is {} than BASE{}{}: a {} of `{}` takes{} {}", name_of(verdict),
                     runs_text(count, comparison.runs.size()), count == 1 ? "" : ", most of all",
                     step, id, clock_text(change.in_cycles), change_text(change));
}

}  // namespace

std::string conclusion_of(const Comparison& comparison) {
  if (comparison.runs.empty()) return {};
  const std::size_t same = count_of(comparison, Verdict::same);
  std::string text;
  for (const Verdict verdict : {Verdict::slower, Verdict::faster})
    if (count_of(comparison, verdict) > 0)
      text += (text.empty() ? "" : "; ") + changed_sentence(comparison, verdict);
  if (text.empty() && same > 0)
    text = fmt::format("NEW is as fast as BASE within {}{}", percent_text(comparison.detect),
                       runs_text(same, comparison.runs.size()));
  if (text.empty())
    text =
        fmt::format("whether NEW is slower than BASE cannot be told: {}", counts_text(comparison));
  for (const Verdict verdict : {Verdict::failed, Verdict::missing})
    if (const std::size_t count = count_of(comparison, verdict); count > 0)
      text += fmt::format("; {} {} {} in NEW", count, count == 1 ? "run" : "runs",
                          verdict == Verdict::failed ? "failed"
                          : count == 1               ? "is missing"
                                                     : "are missing");
  text[0] = text[0] == 'a' ? 'A' : text[0] == 'w' ? 'W' : text[0];
  return text + '.';
}

}  // namespace ptbench
