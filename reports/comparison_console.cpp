#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "reports/comparison_parts.h"
#include "reports/comparison_text.h"
#include "reports/conclusion.h"
#include "reports/wrap.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

constexpr std::size_t kVerdictWidth = 14;  // "incomparable" and two blanks
constexpr std::string_view kGap = "  ";

std::string_view colour_of(Verdict verdict) {
  if (is_regression(verdict)) return "31";
  if (is_undecided(verdict)) return "33";
  return verdict == Verdict::faster ? "32" : "";
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, code_points(text)), ' ');
}

/// The verdict as wide as its column.
std::string verdict_cell(Verdict verdict, const ConsoleStyle& style) {
  const std::string_view name = name_of(verdict);
  const std::string blanks(kVerdictWidth - name.size(), ' ');
  const std::string_view colour = colour_of(verdict);
  if (!style.colour || colour.empty()) return std::string(name) + blanks;
  return fmt::format("\x1b[{}m{}\x1b[0m{}", colour, name, blanks);
}

/// A run's row but for verdict and reasons.
struct RunRow {
  std::string id;
  std::string seconds;      ///< "6.01 ms -> 6.31 ms"
  std::string change;       ///< "median +5.0 % (4.1 % to 5.9 %)"
  std::string repetitions;  ///< "n 5/5"
};

RunRow row_of(const RunComparison& run) {
  return {.id = single_line(run.id),
          .seconds = base_text(run) + " -> " + new_text(run),
          .change = change_text(run) + bracketed_interval(run),
          .repetitions = "n " + repetitions_text(run)};
}

/// Columns as wide as what stands in them.
struct Widths {
  std::size_t id = 0;
  std::size_t seconds = 0;
  std::size_t change = 0;
  std::size_t repetitions = 0;

  void fit(const RunRow& row) {
    id = std::max(id, code_points(row.id));
    seconds = std::max(seconds, code_points(row.seconds));
    change = std::max(change, code_points(row.change));
    repetitions = std::max(repetitions, code_points(row.repetitions));
  }

  [[nodiscard]] std::size_t figures() const {
    return kVerdictWidth + seconds + change + repetitions + 2 * kGap.size();
  }
  [[nodiscard]] std::size_t line() const { return figures() + id + kGap.size(); }
};

std::string figures_text(const RunRow& row, const Widths& widths) {
  return fmt::format("{}{}{}{}{}", padded(row.seconds, widths.seconds), kGap,
                     padded(row.change, widths.change), kGap, row.repetitions);
}

/// Where columns would be too wide for the screen.
std::string joined_figures(const RunRow& row) {
  std::vector<std::string> figures{row.seconds, row.change, row.repetitions};
  std::erase(figures, std::string());
  return fmt::format("{}", fmt::join(figures, ", "));
}

/// `text` below a row, within the columns right of the verdicts.
std::string note(std::string_view text, const ConsoleStyle& style) {
  if (text.empty()) return {};
  return std::string(kVerdictWidth, ' ') +
         wrapped(single_line(text), kVerdictWidth, style.columns) + '\n';
}

/// On one line where all rows fit on one, on two otherwise.
std::string run_text(const RunComparison& run, const RunRow& row, const Widths& widths,
                     const ConsoleStyle& style) {
  std::string text = verdict_cell(run.verdict, style);
  if (widths.line() <= style.columns)
    text += fmt::format("{}{}{}\n", padded(row.id, widths.id), kGap, figures_text(row, widths));
  else
    text +=
        wrapped(row.id, kVerdictWidth, style.columns) + '\n' +
        note(widths.figures() <= style.columns ? figures_text(row, widths) : joined_figures(row),
             style);
  text += note(run.reason, style);
  if (const std::vector<std::string> texts = distinctions(run); !texts.empty())
    text += note(fmt::format("differs: {}", fmt::join(texts, "; ")), style);
  return text + note(left_out_text(run.left_out), style);
}

std::string differences_text(const Comparison& comparison, const ConsoleStyle& style) {
  constexpr std::size_t kIndent = 2;
  if (comparison.differences.empty()) return {};
  std::string text = "BASE and NEW were measured in different environments:\n";
  for (const std::string& difference : comparison.differences)
    text += std::string(kIndent, ' ') +
            wrapped(single_line(difference), 2 * kIndent, style.columns) + '\n';
  return text + wrapped(environment_meaning(comparison), 0, style.columns) + '\n';
}

std::string remarks_text(const Comparison& comparison, const ConsoleStyle& style) {
  constexpr std::size_t kIndent = 2;
  std::string text;
  for (const std::string& remark : remarks_of(comparison))
    text += wrapped("remark: " + single_line(remark), kIndent, style.columns) + '\n';
  return text;
}

/// That no run was judged takes the conclusion's place.
std::string closing_text(const Comparison& comparison, const ConsoleStyle& style) {
  const std::string unjudged = unjudged_text(comparison);
  std::string text;
  for (const std::string& line :
       {comparison.runs.empty() ? std::string() : columns_text(comparison), unjudged,
        false_alarms_text(comparison), counts_text(comparison),
        unjudged.empty() ? conclusion_of(comparison) : std::string()})
    if (!line.empty()) text += wrapped(line, 0, style.columns) + '\n';
  return text;
}

}  // namespace

std::string comparison_console(const Comparison& comparison, const ConsoleStyle& style) {
  std::vector<RunRow> rows;
  Widths widths;
  for (const RunComparison& run : comparison.runs) {
    rows.push_back(row_of(run));
    widths.fit(rows.back());
  }
  std::string text = differences_text(comparison, style) + remarks_text(comparison, style);
  for (std::size_t index = 0; index < rows.size(); ++index)
    text += run_text(comparison.runs[index], rows[index], widths, style);
  return text + closing_text(comparison, style);
}

}  // namespace ptbench
