#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "reports/comparison_parts.h"
#include "reports/conclusion.h"
#include "reports/run_words.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

std::string_view clock_text(const RunComparison& run) {
  return run.in_cycles ? ", at BASE's clock," : "";
}

/// "5.0 % longer (99 %: 4.1 % to 5.9 %)", "5.0 % less (…)", "5.0 % longer (at least 4.1 %)".
std::string change_text(const DecidingChange& shown) {
  const bool is_slower = shown.change > 0;
  std::string text =
      fmt::format("{} {}", percent_text(std::abs(shown.change)), is_slower ? "longer" : "less");
  if (shown.least)
    return text + fmt::format(" (at least {})", percent_text(std::abs(*shown.least)));
  if (!shown.interval) return text;
  const Interval ends = is_slower
                            ? *shown.interval
                            : Interval{.low = -shown.interval->high, .high = -shown.interval->low};
  return text + fmt::format(" ({:.5g} %: {} to {})", 100 * shown.level, percent_text(ends.low),
                            percent_text(ends.high));
}

std::string_view step_text(Statistic statistic) {
  return statistic == Statistic::mean ? "mean step" : "step";
}

DecidingChange change_of(const RunComparison& run) {
  return shown_change(run).value_or(DecidingChange{});
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
    return run.verdict == verdict ? std::abs(change_of(run).change) : -1.0;
  };
  return *std::ranges::max_element(comparison.runs, {}, rank);
}

std::string changed_sentence(const Comparison& comparison, Verdict verdict) {
  const RunComparison& run = most_changed(comparison, verdict);
  const DecidingChange change = change_of(run);
  const std::size_t count = count_of(comparison, verdict);
  const std::string_view step = step_text(change.statistic);
  if (comparison.runs.size() == 1)
    return fmt::format("a {} of NEW takes{} {} than one of BASE", step, clock_text(run),
                       change_text(change));
  std::string id = single_line(run.id);
  std::ranges::replace(id, '`', '\'');
  return fmt::format("NEW is {} than BASE{}{}: a {} of `{}` takes{} {}", name_of(verdict),
                     runs_text(count, comparison.runs.size()), count == 1 ? "" : ", most of all",
                     step, id, clock_text(run), change_text(change));
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
        fmt::format("it is not clear whether NEW is slower than BASE: {}", counts_text(comparison));
  for (const Verdict verdict : {Verdict::failed, Verdict::missing})
    if (const std::size_t count = count_of(comparison, verdict); count > 0)
      text += fmt::format("; {} {} {} in NEW", count, count == 1 ? "run" : "runs",
                          verdict == Verdict::failed ? "failed"
                          : count == 1               ? "is missing"
                                                     : "are missing");
  return with_capital(std::move(text)) + '.';
}

}  // namespace ptbench
