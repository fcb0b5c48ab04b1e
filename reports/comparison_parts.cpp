#include "reports/comparison_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

/// One decimal, unless the number is too long to be read.
std::string percent_number(double fraction) {
  constexpr double kLongest = 9999.5;
  const double percent = 100 * fraction;
  return std::abs(percent) < kLongest ? fmt::format("{:.1f}", percent)
                                      : fmt::format("{:.3g}", percent);
}

std::vector<std::string> joined(std::vector<std::string> texts,
                                const std::vector<std::string>& more) {
  texts.insert(texts.end(), more.begin(), more.end());
  return texts;
}

}  // namespace

std::size_t count_of(const Comparison& comparison, Verdict verdict) {
  return static_cast<std::size_t>(
      std::ranges::count(comparison.runs, verdict, &RunComparison::verdict));
}

std::string counts_text(const Comparison& comparison) {
  std::vector<std::string> counts;
  for (const Verdict verdict : kVerdicts)
    if (const std::size_t count = count_of(comparison, verdict); count > 0)
      counts.push_back(fmt::format("{} {}", count, name_of(verdict)));
  return counts.empty() ? "nothing was compared" : fmt::format("{}", fmt::join(counts, ", "));
}

std::string columns_text(const Comparison& comparison) {
  const bool has_history = std::ranges::any_of(
      comparison.runs, [](const RunComparison& run) { return run.decided_by.has_value(); });
  const bool has_cycles = std::ranges::any_of(comparison.runs, &RunComparison::in_cycles);
  return fmt::format(
      "Step times; looks for changes of {} or more; n: clean repetitions, BASE/NEW; {}{}",
      percent_text(comparison.detect),
      has_history ? "window: against the last entries of the history; anchor: against the first"
                  : "paired: those that took turns",
      has_cycles ? "; cycles: as they would be at BASE's clock" : "");
}

std::string_view environment_meaning(const Comparison& comparison) {
  if (comparison.differences.empty()) return {};
  if (comparison.environment_ignored)
    return "the environments differ; compared all the same, as --ignore-environment asks";
  return "no verdicts: the environments differ; --ignore-environment compares all the same";
}

std::string left_out_text(const std::optional<LeftOut>& left_out) {
  if (!left_out) return {};
  const std::vector<std::string>& differences = left_out->differences;
  std::string text = fmt::format("left out of BASE: {} {} of the history", left_out->entries,
                                 left_out->entries == 1 ? "entry" : "entries");
  if (differences.empty()) return text;
  text += " (" + differences.front();
  if (differences.size() > 1) text += fmt::format(" and {} more", differences.size() - 1);
  return text + ')';
}

std::string unjudged_text(const Comparison& comparison) {
  if (!is_nothing_judged(comparison)) return {};
  std::string_view remedy = "the next comparison can judge the new runs";
  if (count_of(comparison, Verdict::incomparable) > 0)
    remedy = "--ignore-environment compares all the same, --strict ends with 4";
  else if (count_of(comparison, Verdict::missing) > 0)
    remedy = "measure the missing runs in NEW";
  return fmt::format("no run was judged: {}; {}", counts_text(comparison), remedy);
}

std::string false_alarms_text(const Comparison& comparison) {
  const std::size_t changes =
      count_of(comparison, Verdict::slower) + count_of(comparison, Verdict::faster);
  if (comparison.tested == 0 || changes == 0) return {};
  return fmt::format(
      "{} of {} runs {} called slower or faster: at most {:.2g} false alarms among them are "
      "expected",
      changes, comparison.tested, changes == 1 ? "is" : "are", comparison.expected_false_alarms);
}

std::vector<std::string> distinctions(const Comparison& comparison) {
  return joined(comparison.differences, comparison.remarks);
}

std::vector<std::string> distinctions(const RunComparison& run) {
  return joined(run.differences, run.remarks);
}

std::vector<std::string> remarks_of(const Comparison& comparison) {
  std::vector<std::string> remarks = comparison.remarks;
  if (comparison.left_out) remarks.push_back(left_out_text(comparison.left_out));
  return remarks;
}

std::string percent_text(double fraction) { return percent_number(fraction) + " %"; }

std::string_view words_of(Statistic statistic) {
  switch (statistic) {
    case Statistic::median: return "median";
    case Statistic::lower_quartile: return "lower quartile";
    case Statistic::mean: return "mean";
  }
  throw Defect("a statistic without words");
}

std::string change_text(const RunComparison& run) {
  const auto shown = shown_change(run);
  if (!shown) return {};
  const std::string number = percent_number(shown->change);
  return fmt::format("{} {}{} %", words_of(shown->statistic), number.starts_with('-') ? "" : "+",
                     number);
}

std::string interval_text(const RunComparison& run) {
  const auto shown = shown_change(run);
  if (!shown) return {};
  if (shown->least) return percent_text(*shown->least) + " at least";
  if (!shown->interval) return {};
  return percent_text(shown->interval->low) + " to " + percent_text(shown->interval->high);
}

std::string bracketed_interval(const RunComparison& run) {
  const std::string interval = interval_text(run);
  return interval.empty() ? interval : " (" + interval + ")";
}

std::string base_text(const RunComparison& run) {
  const auto shown = shown_change(run);
  return seconds_text(shown ? shown->base_seconds : run.base_seconds);
}

std::string new_text(const RunComparison& run) {
  const auto shown = shown_change(run);
  return seconds_text(shown ? shown->new_seconds : run.new_seconds);
}

std::string seconds_text(const std::optional<double>& seconds) {
  return seconds ? format_duration(*seconds) : "-";
}

std::string repetitions_text(const RunComparison& run) {
  if (run.pairs > 0) return fmt::format("{} pairs", run.pairs);
  const std::string sides = fmt::format("{}/{}", run.base_repetitions, run.new_repetitions);
  if (run.decided_by) return fmt::format("{} {}", sides, name_of(*run.decided_by));
  return sides + (run.rounds > 0 ? " paired" : "") + (run.in_cycles ? " cycles" : "");
}

}  // namespace ptbench
