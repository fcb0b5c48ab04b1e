#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "reports/comparison_parts.h"
#include "reports/comparison_text.h"
#include "reports/json_text.h"
#include "reports/wrap.h"
#include "src/base/text.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFigureColumns = 7;  // but for the run
using Cells = std::array<std::string, kFigureColumns>;

constexpr std::string_view kLegend =
    "run to run: standard deviation of the step time between processes of one build, plan, thread "
    "count and CPU; false alarms: halves of such repetitions that differed when compared; 3, 5, 10 "
    "a side: the smallest change that 95 of 100 comparisons find with so many clean repetitions of "
    "BASE and of NEW, with --detect set to it";
constexpr std::string_view kUnusual =
    "unusual: not learnt, and such runs compare as ambiguous whatever the change (-)";

Cells headings() {
  return {"placement", "n", "run to run", "false alarms", "3 a side", "5 a side", "10 a side"};
}

/// "-" where no change is found.
std::string resolvable_text(double change) {
  return std::isfinite(change) ? percent_text(change) : "-";
}

Cells cells_of(const SelfCheck& check) {
  const std::string alarms =
      check.false_alarm_rate
          ? fmt::format("{} of {}", percent_text(*check.false_alarm_rate), check.splits)
          : "-";
  return {single_line(check.placement),
          std::to_string(check.repetitions),
          format_percent(check.standard_deviation),
          alarms,
          resolvable_text(check.resolvable_with_3),
          resolvable_text(check.resolvable_with_5),
          resolvable_text(check.resolvable_with_10)};
}

std::string line_of(const Cells& cells, const Cells& widest) {
  std::string line;
  for (std::size_t column = 0; column < kFigureColumns; ++column) {
    const std::size_t width = code_points(widest[column]);
    const std::string blanks(width - std::min(width, code_points(cells[column])), ' ');
    line += (column == 0 ? cells[column] + blanks : blanks + cells[column]) + "  ";
  }
  return line;
}

/// In each column the text that needs most room.
Cells widest_of(const std::vector<Cells>& lines) {
  Cells widest;
  for (const Cells& cells : lines)
    for (std::size_t column = 0; column < kFigureColumns; ++column)
      if (code_points(cells[column]) > code_points(widest[column])) widest[column] = cells[column];
  return widest;
}

Json object_of(const SelfCheck& check) {
  return {{"id", check.id},
          {"placement", check.placement},
          {"repetitions", check.repetitions},
          {"groups", check.groups},
          {"degrees_of_freedom", check.degrees_of_freedom},
          {"standard_deviation", json_number(check.standard_deviation)},
          {"median_deviation", json_number(check.median_deviation)},
          {"unusual", check.unusual},
          {"false_alarm_rate", json_number(check.false_alarm_rate)},
          {"splits", check.splits},
          {"resolvable_with_3", json_number(check.resolvable_with_3)},
          {"resolvable_with_5", json_number(check.resolvable_with_5)},
          {"resolvable_with_10", json_number(check.resolvable_with_10)}};
}

}  // namespace

std::string self_check_console(std::span<const SelfCheck> checks, const ConsoleStyle& style) {
  constexpr std::size_t kLeastRun = 20;
  std::vector<Cells> lines{headings()};
  for (const SelfCheck& check : checks) lines.push_back(cells_of(check));
  const Cells widest = widest_of(lines);
  const std::size_t indent = code_points(line_of(widest, widest));
  std::string text = line_of(lines.front(), widest) + "run\n";
  for (std::size_t index = 0; index < checks.size(); ++index) {
    const std::string id = single_line(checks[index].id);
    // Beside the figures where there is room, else below them.
    const bool beside = indent + std::max(kLeastRun, code_points(id)) <= style.columns;
    std::string line = line_of(lines[index + 1], widest);
    if (beside)
      line += id;
    else
      line.replace(line.find_last_not_of(' ') + 1, std::string::npos,
                   "\n  " + wrapped(id, 2, style.columns));
    text += line + '\n';
    if (checks[index].unusual) text += "  " + wrapped(kUnusual, 2, style.columns) + '\n';
  }
  return text + wrapped(kLegend, 0, style.columns) + '\n';
}

std::string self_check_json(std::span<const SelfCheck> checks) {
  Json array = Json::array();
  for (const SelfCheck& check : checks) array.push_back(object_of(check));
  return json_text({{"schema", "ptbench.self_check/1"}, {"checks", std::move(array)}}) + "\n";
}

}  // namespace ptbench
