#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "reports/comparison_parts.h"
#include "reports/comparison_text.h"
#include "reports/conclusion.h"
#include "reports/markdown_text.h"

namespace ptbench {
namespace {

std::string markdown_row(const RunComparison& run) {
  const std::string verdict = is_regression(run.verdict) || run.verdict == Verdict::faster
                                  ? fmt::format("**{}**", name_of(run.verdict))
                                  : std::string(name_of(run.verdict));
  std::string remarks = markdown_escaped(run.reason);
  for (const std::string& difference : distinctions(run))
    remarks += (remarks.empty() ? "" : "; ") + markdown_escaped(difference);
  if (run.left_out)
    remarks += (remarks.empty() ? "" : "; ") + markdown_escaped(left_out_text(run.left_out));
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", verdict, markdown_code(run.id),
                     base_text(run), new_text(run), change_text(run), interval_text(run),
                     repetitions_text(run), remarks);
}

/// Of pairs in lockstep, intervals hold at every look together; those of means are wider.
std::string interval_heading(const Comparison& comparison) {
  double lowest = 1;
  double highest = 0;
  for (const RunComparison& run : comparison.runs)
    if (const auto shown = shown_change(run); shown && shown->interval) {
      lowest = std::min(lowest, shown->level);
      highest = std::max(highest, shown->level);
    }
  if (highest == 0) return "interval";
  const std::string level = fmt::format("{:.5g} %", 100 * highest);
  return lowest == highest ? level + " interval" : "interval (" + level + " and less)";
}

std::string table_of(const Comparison& comparison, bool same) {
  std::string rows;
  for (const RunComparison& run : comparison.runs)
    if ((run.verdict == Verdict::same) == same) rows += markdown_row(run);
  if (rows.empty()) return {};
  return fmt::format(
      "| verdict | run | BASE | NEW | change | {} | n | remarks |\n"
      "|---|---|--:|--:|--:|--:|--:|---|\n{}\n",
      interval_heading(comparison), rows);
}

std::string list_of(std::string_view heading, const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string list = fmt::format("{}:\n\n", heading);
  for (const std::string& text : texts) list += "- " + markdown_code(text) + '\n';
  return list + '\n';
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison) {
  std::string text = fmt::format("### ptbench compare: {}\n\n", counts_text(comparison));
  if (const std::string unjudged = unjudged_text(comparison); !unjudged.empty())
    text += fmt::format("**{}**\n\n", markdown_escaped(unjudged));
  else if (!comparison.runs.empty())
    text += markdown_sentence(conclusion_of(comparison)) + "\n\n";
  if (const std::string alarms = false_alarms_text(comparison); !alarms.empty())
    text += alarms + ".\n\n";
  text += list_of(environment_meaning(comparison), comparison.differences);
  text += list_of("remarks", remarks_of(comparison));
  text += table_of(comparison, false);
  if (const std::size_t same = count_of(comparison, Verdict::same); same > 0)
    // Without the blank lines the table would be taken for HTML.
    text += fmt::format("<details><summary>{} same</summary>\n\n{}</details>\n\n", same,
                        table_of(comparison, true));
  return text + columns_text(comparison) + ".\n";
}

}  // namespace ptbench
