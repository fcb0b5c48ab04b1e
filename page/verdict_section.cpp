#include <fmt/format.h>

#include <optional>
#include <utility>

#include "page/html.h"
#include "page/sections.h"
#include "reports/comparison_parts.h"
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

/// A text, and the number that it is sorted by.
HtmlCell sorted_cell(std::string text, const std::optional<double>& number) {
  return {.text = std::move(text), .sort = number ? number_text(*number) : ""};
}

/// "45.5 % to 58.9 % (99.9 %)".
std::string interval_with_level(const RunComparison& run, const DecidingChange& shown) {
  const std::string text = interval_text(run);
  return shown.interval ? fmt::format("{} ({:.5g} %)", text, 100 * shown.level) : text;
}

std::vector<HtmlCell> row_of(const RunComparison& run) {
  const auto shown = shown_change(run);
  return {
      {.text = run.id},
      {.text = std::string(name_of(run.verdict)), .mark = mark_of(run.verdict)},
      sorted_cell(base_text(run), shown ? shown->base_seconds : run.base_seconds),
      sorted_cell(new_text(run), shown ? shown->new_seconds : run.new_seconds),
      sorted_cell(change_text(run), shown ? std::optional<double>(shown->change) : std::nullopt),
      {.text = shown ? interval_with_level(run, *shown) : ""},
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
  std::string html = paragraph(counts_text(comparison));
  html += paragraph(unjudged_text(comparison)) + paragraph(false_alarms_text(comparison));
  html += list_of(environment_meaning(comparison), comparison.differences);
  html += list_of("Remarks", remarks_of(comparison));
  HtmlTable table{
      .caption = fmt::format("Step times of BASE and NEW; looks for changes of {} or more",
                             percent_text(comparison.detect)),
      .columns = {{.heading = "run"},
                  {.heading = "verdict"},
                  {.heading = "BASE", .is_number = true},
                  {.heading = "NEW", .is_number = true},
                  {.heading = "change",
                   .meaning = "of the step time, by the statistic that decided: + is slower",
                   .is_number = true},
                  {.heading = "interval", .is_number = true},
                  {.heading = "clean",
                   .meaning = "clean repetitions of BASE and NEW",
                   .is_number = true},
                  {.heading = "remarks", .is_long = true}},
      .is_sortable = true};
  for (const RunComparison& run : comparison.runs) table.rows.push_back(row_of(run));
  if (!table.rows.empty()) html += html_table(table);
  return html_section("verdicts", "Verdicts", html);
}

}  // namespace ptbench
