#include <fmt/format.h>

#include "page/html.h"
#include "page/sections.h"
#include "reports/comparison_parts.h"
#include "reports/conclusion.h"
#include "reports/field_text.h"

namespace ptbench {
namespace {

std::string mark_of(Verdict verdict) {
  if (is_regression(verdict)) return "bad";
  if (is_undecided(verdict)) return "doubt";
  return verdict == Verdict::faster ? "good" : "";
}

std::string remarks_text(const RunComparison& run) {
  std::string remarks = run.reason;
  const auto add = [&](const std::string& remark) {
    if (!remark.empty()) remarks += (remarks.empty() ? "" : "; ") + remark;
  };
  for (const std::string& difference : distinctions(run)) add(difference);
  if (run.left_out) add(left_out_text(run.left_out));
  return remarks;
}

HtmlCell seconds_cell(const std::optional<double>& seconds) {
  return {.text = seconds_text(seconds), .sort = seconds ? number_text(*seconds) : ""};
}

std::vector<HtmlCell> row_of(const RunComparison& run) {
  return {{.text = run.id},
          {.text = std::string(name_of(run.verdict)), .mark = mark_of(run.verdict)},
          seconds_cell(run.base_seconds),
          seconds_cell(run.new_seconds),
          {.text = change_text(run), .sort = run.change ? number_text(*run.change) : ""},
          {.text = run.change_ci99
                       ? fmt::format("{} ({:.5g} %)", interval_text(run), 100 * run.interval_level)
                       : ""},
          {.text = repetitions_text(run)},
          {.text = remarks_text(run)}};
}

std::string list_of(std::string_view heading, const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string html = fmt::format("<p>{}:</p>\n<ul>\n", html_text(heading));
  for (const std::string& text : texts) html += fmt::format("<li>{}</li>\n", html_text(text));
  return html + "</ul>\n";
}

std::string paragraph(const std::string& text) {
  return text.empty() ? text : fmt::format("<p>{}</p>\n", html_text(text));
}

}  // namespace

std::string verdict_section(const Comparison& comparison) {
  const std::string conclusion = conclusion_of(comparison);
  std::string html =
      fmt::format("<p class=\"lead\">{}</p>\n",
                  html_text(conclusion.empty() ? "Nothing was compared." : conclusion));
  html += paragraph(counts_text(comparison));
  html += paragraph(unjudged_text(comparison)) + paragraph(false_alarms_text(comparison));
  html += list_of(environment_meaning(comparison), comparison.differences);
  html += list_of("Remarks", remarks_of(comparison));
  HtmlTable table{
      .caption = fmt::format("Step times of BASE and NEW; a change of {} or more is "
                             "looked for",
                             percent_text(comparison.detect)),
      .columns =
          {{.heading = "run"},
           {.heading = "verdict"},
           {.heading = "BASE", .is_number = true},
           {.heading = "NEW", .is_number = true},
           {.heading = "change", .meaning = "of the step time: + is slower", .is_number = true},
           {.heading = "interval", .is_number = true},
           {.heading = "clean", .meaning = "clean repetitions of BASE and NEW", .is_number = true},
           {.heading = "remarks", .is_long = true}},
      .rows = {},
      .is_sortable = true};
  for (const RunComparison& run : comparison.runs) table.rows.push_back(row_of(run));
  if (!table.rows.empty()) html += html_table(table);
  return html_section("verdicts", "Verdicts", html);
}

}  // namespace ptbench
