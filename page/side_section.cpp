#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "page/html.h"
#include "page/sections.h"
#include "reports/comparison_parts.h"

namespace ptbench {
namespace {

/// The table of verdicts tells all.
constexpr std::size_t kMostRuns = 6;

/// "14 pairs of processes in lockstep".
std::string evidence_text(const RunComparison& run) {
  if (run.pairs > 0) return fmt::format("{} pairs of processes in lockstep", run.pairs);
  if (run.rounds > 0) return fmt::format("{} rounds", run.rounds);
  return repetitions_text(run) + " clean repetitions";
}

std::string side_note(Size clean, const std::optional<Interval>& interval) {
  std::string note = fmt::format("{} clean repetition{}", clean, clean == 1 ? "" : "s");
  if (interval)
    note +=
        fmt::format("; 95 %: {} to {}", seconds_text(interval->low), seconds_text(interval->high));
  return note;
}

std::string run_html(const RunComparison& run, bool is_only) {
  const auto shown = shown_change(run);
  // The sides' own intervals are of medians.
  const bool is_of_median = !shown || shown->statistic == Statistic::median;
  const auto own = [&](const std::optional<Interval>& interval) {
    return is_of_median && run.pairs == 0 ? interval : std::nullopt;  // pairs have one of their own
  };
  std::string html;
  if (!is_only) html += fmt::format("<h3>{}</h3>\n", html_text(run.id));
  html += "<dl class=\"facts\">\n";
  html += html_fact({.question = "A step of BASE",
                     .value = base_text(run),
                     .note = side_note(run.base_repetitions, own(run.base_ci95))});
  html += html_fact({.question = "A step of NEW",
                     .value = new_text(run),
                     .note = side_note(run.new_repetitions, own(run.new_ci95))});
  std::string interval = interval_text(run);
  if (shown && shown->interval)
    interval = fmt::format("{:.5g} %: {}", 100 * shown->level, interval);
  html += html_fact({.question = "Change of the step time",
                     .value = change_text(run),
                     .note = interval,
                     .is_doubtful = is_undecided(run.verdict)});
  html += html_fact({.question = "Evidence",
                     .value = evidence_text(run),
                     .note = run.reason,
                     .is_doubtful = is_undecided(run.verdict)});
  return html + "</dl>\n";
}

}  // namespace

std::string side_section(const Comparison& comparison) {
  std::string html;
  const std::size_t shown = std::min(comparison.runs.size(), kMostRuns);
  for (std::size_t at = 0; at < shown; ++at)
    html += run_html(comparison.runs[at], comparison.runs.size() == 1);
  if (shown < comparison.runs.size())
    html += fmt::format("<p>{} more runs are in the table of verdicts.</p>\n",
                        comparison.runs.size() - shown);
  return html_section("answer", "BASE beside NEW", html);
}

}  // namespace ptbench
