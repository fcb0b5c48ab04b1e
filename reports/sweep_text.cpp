#include "reports/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/field_text.h"
#include "reports/scaling_text.h"
#include "reports/table.h"
#include "reports/wrap.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/measure/run_id.h"

namespace ptbench {
namespace {

constexpr std::size_t kLabelWidth = 13;

/// A column, as text; an empty cell is not known.
struct TextColumn {
  std::string heading;
  std::vector<std::string> cells;  ///< one a run
  bool is_right = false;
};

/// Where the next "/option=" begins in what follows an id's key; the end where none does.
std::size_t next_option(std::string_view text, std::size_t from) {
  for (std::size_t slash = text.find('/', from); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", slash + 1);
    if (end != std::string_view::npos && end > slash + 1 && text[end] == '=') return slash;
  }
  return text.size();
}

/// The options in an id, in their order. Empty for an id that ptbench did not make.
std::vector<OptionValue> options_of(const RunRecord& run) {
  const std::string key = run_id({.workload = run.workload.name,
                                  .strategy = run.strategy.name,
                                  .world_size = run.strategy.world_size,
                                  .batch_per_replica = run.strategy.batch_per_replica.value_or(0),
                                  .precision = run.strategy.precision});
  if (!run.id.starts_with(key)) return {};
  const std::string_view rest = std::string_view(run.id).substr(key.size());
  std::vector<OptionValue> options;
  for (std::size_t begin = next_option(rest, 0); begin < rest.size();) {
    const std::size_t equals = rest.find('=', begin);
    const std::size_t end = next_option(rest, equals + 2);  // a value may begin with '/'
    options.push_back({std::string(rest.substr(begin + 1, equals - begin - 1)),
                       std::string(rest.substr(equals + 1, end - equals - 1))});
    begin = end;
  }
  return options;
}

std::vector<TextColumn> key_columns(const ResultFile& file) {
  std::vector<TextColumn> columns{{.heading = "workload", .cells = {}},
                                  {.heading = "strategy", .cells = {}},
                                  {.heading = "n", .cells = {}, .is_right = true},
                                  {.heading = "batch", .cells = {}, .is_right = true},
                                  {.heading = "precision", .cells = {}}};
  for (const RunRecord& run : file.runs) {
    const auto batch = run.strategy.batch_per_replica;
    const std::array<std::string, 5> cells{
        run.workload.name, run.strategy.name, fmt::format("{}", run.strategy.world_size),
        batch ? fmt::format("{}", *batch) : std::string(), run.strategy.precision};
    for (std::size_t at = 0; at < cells.size(); ++at)
      columns[at].cells.push_back(single_line(cells[at]));
  }
  return columns;
}

/// Some ids name their threads, as these are not the usual ones for that number of ranks: then all
/// rows tell theirs.
void fill_threads(const ResultFile& file, std::vector<TextColumn>& columns) {
  const auto threads = std::ranges::find(columns, "threads", &TextColumn::heading);
  if (threads == columns.end()) return;
  for (std::size_t row = 0; row < file.runs.size(); ++row)
    if (threads->cells[row].empty() && file.runs[row].strategy.threads)
      threads->cells[row] = fmt::format("{}", *file.runs[row].strategy.threads);
}

/// The column of an option, which is added unless the run was skipped: its line below the table
/// names all of its options.
TextColumn* column_of(const std::string& option, const RunRecord& run, std::size_t runs,
                      std::vector<TextColumn>& columns) {
  const auto known = std::ranges::find(columns, option, &TextColumn::heading);
  if (known != columns.end()) return &*known;
  if (run.status == Status::skipped) return nullptr;
  columns.push_back({.heading = option, .cells = std::vector<std::string>(runs), .is_right = true});
  return &columns.back();
}

/// The key's columns, then one for each option that is in the id of any run but a skipped one.
std::vector<TextColumn> identity_columns(const ResultFile& file) {
  std::vector<TextColumn> options;
  const auto add = [&](std::size_t row) {
    const RunRecord& run = file.runs[row];
    for (const OptionValue& option : options_of(run))
      if (TextColumn* column = column_of(option.option, run, file.runs.size(), options))
        column->cells[row] = single_line(option.value);
  };
  for (std::size_t row = 0; row < file.runs.size(); ++row)
    if (file.runs[row].status != Status::skipped) add(row);
  for (std::size_t row = 0; row < file.runs.size(); ++row)
    if (file.runs[row].status == Status::skipped) add(row);
  fill_threads(file, options);
  std::vector<TextColumn> columns = key_columns(file);
  columns.insert(columns.end(), options.begin(), options.end());
  return columns;
}

bool varies(const TextColumn& column) {
  return std::ranges::adjacent_find(column.cells, std::ranges::not_equal_to()) !=
         column.cells.end();
}

/// What all runs have in common: "serial, n 1, fp32, threads 2".
std::string common_text(const std::vector<TextColumn>& identity) {
  std::string text;
  for (std::size_t at = 0; at < identity.size(); ++at) {
    const TextColumn& column = identity[at];
    if (varies(column) || column.cells.front().empty()) continue;
    const bool says_itself = at == 0 || at == 1 || at == 4;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ",
                        says_itself ? std::string() : column.heading + " ", column.cells.front());
  }
  return text;
}

bool has_result(const RunRecord& run) {
  return (run.status == Status::ok || run.status == Status::interrupted) &&
         run.throughput.value.has_value();
}

/// A share with two significant digits: "0.42 %", "12 %".
std::string percent(double share) {
  const double value = 100 * share;
  return value >= 10 ? fmt::format("{:.0f} %", value) : fmt::format("{:.2g} %", value);
}

/// "21.3 k ± 0.42 %"; the status of a run without throughput.
std::string throughput_text(const RunRecord& run) {
  if (!has_result(run)) return std::string(name_of(run.status));
  const double value = run.throughput.value.value();
  const auto& interval = run.throughput.ci95;
  if (!interval || value <= 0) return format_si(value);
  return fmt::format("{} ± {}", format_si(value),
                     percent((interval->high - interval->low) / 2 / value));
}

std::string spread_text(const RunRecord& run) {
  const StepSecondsRecord& seconds = run.step_seconds;
  if (!seconds.run_to_run_sd || seconds.median.value_or(0) <= 0) return {};
  return percent(*seconds.run_to_run_sd / *seconds.median);
}

/// "4/5": clean repetitions of the placement that has most, of all.
std::string clean_text(const RunRecord& run) {
  std::map<std::string, std::size_t> clean;
  for (const RepetitionRecord& repetition : run.samples.repetitions)
    if (repetition.clean_slices.value_or(0) > 0) ++clean[repetition.placement.value_or("")];
  if (run.samples.repetitions.empty()) return {};
  std::size_t most = 0;
  for (const auto& [placement, count] : clean) most = std::max(most, count);
  return fmt::format("{}/{}", most, run.samples.repetitions.size());
}

template <class Value>
FieldValue field_of(const std::optional<Value>& value) {
  return value ? FieldValue(*value) : FieldValue();
}

std::string memory_text(const RunRecord& run) {
  if (!run.memory.peak_bytes) return {};
  return format_bytes(*run.memory.peak_bytes);
}

std::string speedup_text(const RunRecord& run) {
  if (!run.scaling || !run.scaling->speedup) return {};
  return fmt::format("{:.2f}", *run.scaling->speedup);
}

/// A figure of a run.
struct Figure {
  std::string_view heading;
  int leaves;  ///< which is left out first where the table is too wide; 0: never
  std::string (*text)(const RunRecord&);
};

constexpr std::array<Figure, 9> kFigures{{
    {"samples/s", 0, throughput_text},
    {"step", 4,
     [](const RunRecord& run) {
       return human_text(field_of(run.step_seconds.median), Unit::seconds);
     }},
    {"spread", 2, spread_text},
    {"clean", 5, clean_text},
    {"of peak", 1,
     [](const RunRecord& run) {
       return human_text(field_of(run.compute.utilization), Unit::fraction);
     }},
    {"speedup", 0, speedup_text},
    {"efficiency", 0, efficiency_text},
    {"vs all cores", 6, all_cores_text},
    {"memory", 3, memory_text},
}};

/// Figures that any run has, without those that leave first.
std::vector<TextColumn> figure_columns(const ResultFile& file, int left_out) {
  std::vector<TextColumn> columns;
  for (const Figure& figure : kFigures) {
    if (figure.leaves != 0 && figure.leaves <= left_out) continue;
    TextColumn column{.heading = std::string(figure.heading), .cells = {}, .is_right = true};
    for (const RunRecord& run : file.runs)
      column.cells.push_back(has_result(run) || figure.text == throughput_text ? figure.text(run)
                                                                               : std::string());
    if (std::ranges::any_of(column.cells, [](const std::string& cell) { return !cell.empty(); }))
      columns.push_back(std::move(column));
  }
  return columns;
}

std::string text_of(const std::vector<TextColumn>& columns) {
  Table table{.name = "runs", .columns = {}, .rows = {}};
  table.rows.resize(columns.front().cells.size());
  for (const TextColumn& column : columns) {
    table.columns.push_back(
        {.key = column.heading, .heading = column.heading, .is_right = column.is_right});
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      table.rows[row].emplace_back(column.cells[row]);
  }
  return table_text(table);
}

bool fits(std::string_view text, std::size_t columns) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (code_points(text.substr(0, end)) > columns) return false;
    text.remove_prefix(end + 1);
  }
  return true;
}

/// With as many figures as fit; empty where even the fewest are too wide.
std::string fitting_table(const ResultFile& file, const std::vector<TextColumn>& identity,
                          std::size_t width) {
  constexpr int kMostLeftOut = 6;
  for (int left_out = 0; left_out <= kMostLeftOut; ++left_out) {
    std::vector<TextColumn> columns = identity;
    for (TextColumn& figure : figure_columns(file, left_out)) columns.push_back(std::move(figure));
    std::string text = text_of(columns);
    if (fits(text, width)) return text;
  }
  return {};
}

std::string labelled(std::string_view label, const std::string& text, const ConsoleStyle& style,
                     std::string_view colour = {}) {
  const std::string line = fmt::format("{:<{}}{}", label, kLabelWidth,
                                       wrapped(single_line(text), kLabelWidth, style.columns));
  if (!style.colour || colour.empty()) return line + '\n';
  return fmt::format("\x1b[{}m{}\x1b[0m\n", colour, line);
}

/// Where ids are too long for a column: numbers in the table, and what they mean below it.
std::string numbered_table(const ResultFile& file, const ConsoleStyle& style) {
  TextColumn numbers{.heading = "run", .cells = {}, .is_right = true};
  std::string meanings;
  for (std::size_t row = 0; row < file.runs.size(); ++row) {
    numbers.cells.push_back(fmt::format("{}", row + 1));
    meanings += labelled(fmt::format("run {}", row + 1), file.runs[row].id, style);
  }
  return fitting_table(file, {numbers}, std::max<std::size_t>(style.columns, 1)) + meanings;
}

std::string table_of(const ResultFile& file, const ConsoleStyle& style) {
  std::vector<TextColumn> identity = identity_columns(file);
  const std::string common = common_text(identity);
  if (file.runs.size() > 1)
    std::erase_if(identity, [](const TextColumn& column) { return !varies(column); });
  std::string text = fitting_table(file, identity, style.columns);
  if (text.empty() || identity.empty()) return numbered_table(file, style);
  if (file.runs.size() == 1 || common.empty()) return text;
  return labelled("all runs", common, style) + text;
}

/// "mlp/serial/n1/b32/fp32 and 3 more".
std::string several(const std::vector<std::string>& ids) {
  if (ids.size() == 1) return ids.front();
  return fmt::format("{} and {} more", ids.front(), ids.size() - 1);
}

/// Runs with one status and reason share a line.
std::string troubles_of(const ResultFile& file, const ConsoleStyle& style) {
  std::vector<std::pair<Status, std::string>> kinds;
  std::map<std::pair<Status, std::string>, std::vector<std::string>> ids;
  for (const RunRecord& run : file.runs) {
    if (run.status == Status::ok) continue;
    const std::pair kind(run.status, run.reason.value_or("no reason was recorded"));
    if (ids[kind].empty()) kinds.push_back(kind);
    ids[kind].push_back(run.id);
  }
  std::string text;
  for (const auto& kind : kinds)
    text += labelled(name_of(kind.first), fmt::format("{}: {}", several(ids[kind]), kind.second),
                     style, kind.first == Status::failed ? "31" : "33");
  return text;
}

/// The same code is one warning, even where its numbers differ.
std::string warnings_of(const ResultFile& file, const ConsoleStyle& style) {
  std::vector<WarningRecord> kinds;
  std::map<std::string, std::size_t> runs;
  for (const RunRecord& run : file.runs) {
    std::set<std::string> counted;
    for (const WarningRecord& warning : run.warnings) {
      if (!counted.insert(warning.code).second) continue;
      if (++runs[warning.code] == 1) kinds.push_back(warning);
    }
  }
  std::string text;
  for (const WarningRecord& warning : kinds) {
    std::string line = fmt::format("{} ({} of {} runs): {}", warning.code, runs[warning.code],
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

std::string machine_line(const ResultFile& file, const ConsoleStyle& style) {
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
  std::string text = machine_line(file, style);
  if (file.runs.empty()) return text + "nothing was measured\n";
  return text + table_of(file, style) + scaling_of(file, style) + troubles_of(file, style) +
         warnings_of(file, style);
}

}  // namespace ptbench
