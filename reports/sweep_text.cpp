#include "reports/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/conclusion.h"
#include "reports/runs_table.h"
#include "reports/scaling_text.h"
#include "reports/table.h"
#include "reports/troubles.h"
#include "reports/wrap.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

constexpr std::size_t kSweepLabelWidth = 13;

bool fits(std::string_view text, std::size_t columns) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (code_points(text.substr(0, end)) > columns) return false;
    text.remove_prefix(end + 1);
  }
  return true;
}

/// A table as wide as the screen at most, and its figures.
struct FittingTable {
  std::string text;  ///< empty where even the figures that must stay are too wide
  std::vector<TextColumn> figures;
};

/// With as many figures as fit, of which the first `most_left_out` may be missing.
FittingTable fitting_table(const ResultFile& file, const std::vector<TextColumn>& identity,
                           int most_left_out, std::size_t width) {
  for (int left_out = 0; left_out <= most_left_out; ++left_out) {
    std::vector<TextColumn> figures = figure_columns(file, left_out);
    std::vector<TextColumn> columns = identity;
    columns.insert(columns.end(), figures.begin(), figures.end());
    std::string text = table_text(runs_table(columns), width);
    if (fits(text, width)) return {.text = std::move(text), .figures = std::move(figures)};
  }
  return {};
}

std::string labelled(std::string_view label, const std::string& text, const ConsoleStyle& style,
                     std::string_view colour = {}) {
  const std::string line = fmt::format("{:<{}}{}", label, kSweepLabelWidth,
                                       wrapped(single_line(text), kSweepLabelWidth, style.columns));
  if (!style.colour || colour.empty()) return line + '\n';
  return fmt::format("\x1b[{}m{}\x1b[0m\n", colour, line);
}

std::string meanings_of(const FittingTable& table, const ConsoleStyle& style) {
  const std::string text = meanings_text(table.figures);
  return text.empty() ? text : labelled("columns", text, style);
}

/// Where ids are too long for a column: numbers in the table, and what they mean below it.
std::string numbered_table(const ResultFile& file, const ConsoleStyle& style) {
  TextColumn numbers{.heading = "run", .is_right = true};
  std::string meanings;
  for (std::size_t row = 0; row < file.runs.size(); ++row) {
    numbers.cells.push_back(fmt::format("{}", row + 1));
    meanings += labelled(fmt::format("run {}", row + 1), file.runs[row].id, style);
  }
  const FittingTable table =
      fitting_table(file, {numbers}, kMostLeftOut, std::max<std::size_t>(style.columns, 1));
  return table.text + meanings + meanings_of(table, style);
}

std::string table_of(const ResultFile& file, const ConsoleStyle& style) {
  std::vector<TextColumn> identity = identity_columns(file);
  const std::string common = common_text(identity);
  if (file.runs.size() > 1)
    std::erase_if(identity, [](const TextColumn& column) { return !varies(column); });
  const FittingTable table = fitting_table(file, identity, kMostLeftOutBesideIds, style.columns);
  if (table.text.empty() || identity.empty()) return numbered_table(file, style);
  std::string text;
  if (file.runs.size() > 1 && !common.empty()) text = labelled("all runs", common, style);
  return text + table.text + meanings_of(table, style);
}

/// Runs with one status and reason share a line.
std::string troubles_text(const ResultFile& file, const ConsoleStyle& style) {
  std::string text;
  for (const Trouble& trouble : troubles_of(file.runs))
    text += labelled(name_of(trouble.status),
                     fmt::format("{}: {}", subject_of(trouble), trouble.reason), style,
                     trouble.status == Status::failed ? "31" : "33");
  return text;
}

/// One line a cause.
std::string warnings_text(const ResultFile& file, const ConsoleStyle& style) {
  std::string text;
  for (const MergedWarning& warning : merged_warnings(file.runs)) {
    std::string line = fmt::format("{} ({} of {} runs): {}", warning.name, warning.runs,
                                   file.runs.size(), warning.message);
    if (!warning.remedy.empty()) line += "; remedy: " + warning.remedy;
    text += labelled("warning", line, style, "33");
  }
  return text;
}

std::string scaling_of(const ResultFile& file, const ConsoleStyle& style) {
  std::string text;
  for (const std::string& line : scaling_lines(file)) text += labelled("scaling", line, style);
  return text;
}

std::string machine_and_build(const ResultFile& file, const ConsoleStyle& style) {
  const GeneratorRecord& generator = file.generator;
  const EnvironmentRecord& environment = file.environment;
  std::string text = fmt::format("{} {}", generator.name, generator.version);
  if (generator.git_commit) text += " " + *generator.git_commit;
  if (generator.build_type) text += fmt::format(" ({} build)", *generator.build_type);
  text += " on " + environment.host.name;
  if (environment.cpu.model) text += ", " + *environment.cpu.model;
  if (environment.cpu.cores)
    text +=
        fmt::format(", {} core{}", *environment.cpu.cores, *environment.cpu.cores == 1 ? "" : "s");
  return wrapped(single_line(text), 2, style.columns) + '\n';
}

}  // namespace

std::string sweep_console(const ResultFile& file, const ConsoleStyle& style) {
  std::string text = machine_and_build(file, style);
  if (file.runs.empty()) return text + "nothing was measured\n";
  return text + table_of(file, style) + scaling_of(file, style) + troubles_text(file, style) +
         warnings_text(file, style) + labelled("conclusion", conclusion_of(file), style, "1");
}

}  // namespace ptbench
