#include "reports/runs_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "reports/field_text.h"
#include "reports/scaling_text.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/interval_text.h"
#include "src/measure/reliability.h"
#include "src/measure/run_id.h"

namespace ptbench {
namespace {

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
  std::vector<TextColumn> columns{{.heading = "workload"},
                                  {.heading = "strategy"},
                                  {.heading = "n", .is_right = true},
                                  {.heading = "batch", .is_right = true},
                                  {.heading = "precision"}};
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

/// A cell is empty where that is not known.
TextColumn hosts_column(const ResultFile& file) {
  TextColumn column{.heading = "hosts", .is_right = true};
  for (const RunRecord& run : file.runs)
    column.cells.push_back(run.strategy.hosts ? fmt::format("{}", *run.strategy.hosts) : "");
  return column;
}

/// Some ids name their threads or their engine, as these are not the usual ones: then all rows that
/// have any tell theirs.
void fill_usual(std::string_view option, const ResultFile& file, std::vector<TextColumn>& columns,
                std::string (*usual)(const RunRecord&)) {
  const auto column = std::ranges::find(columns, option, &TextColumn::heading);
  if (column == columns.end()) return;
  for (std::size_t row = 0; row < file.runs.size(); ++row)
    if (column->cells[row].empty()) column->cells[row] = usual(file.runs[row]);
}

/// Empty where they are not known.
std::string threads_text(const RunRecord& run) {
  return run.strategy.threads ? fmt::format("{}", *run.strategy.threads) : "";
}

std::string engine_text(const RunRecord& run) {
  if (run.status == Status::skipped) return {};
  return single_line(run.engine.name.value_or("native"));
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

bool tells_throughput(const RunRecord& run) {
  return ended_well(run.status) && run.throughput.value.has_value();
}

/// "21.3 k ± 0.42 %"; the status of a run without throughput.
std::string throughput_text(const RunRecord& run) {
  if (!tells_throughput(run)) return std::string(name_of(run.status));
  return rate_with_interval(*run.throughput.value, run.throughput.ci95);
}

std::string spread_text(const RunRecord& run) {
  const StepSecondsRecord& seconds = run.step_seconds;
  if (!seconds.run_to_run_sd || seconds.median.value_or(0) <= 0) return {};
  return noise_text(*seconds.run_to_run_sd / *seconds.median);
}

/// "4/5": clean repetitions of the placement that has most, of all; "0/5, 5 unknown".
std::string clean_text(const RunRecord& run) {
  const Reliability found = reliability_of(run);
  if (found.repetitions == 0) return {};
  return fmt::format("{}/{}{}", found.clean, found.repetitions, unknown_text(found.unknown));
}

template <class Value>
FieldValue field_of(const std::optional<Value>& value) {
  return value ? FieldValue(*value) : FieldValue();
}

std::string memory_text(const RunRecord& run) {
  if (!run.memory.peak_bytes) return {};
  return format_bytes(*run.memory.peak_bytes);
}

/// A figure of a run.
struct Figure {
  std::string_view heading;
  int leaves;  ///< which is left out first where the table is too wide; 0: never
  std::string (*text)(const RunRecord&);
  std::string_view meaning;
};

constexpr std::array<Figure, 14> kFigures{{
    {"samples/s", 0, throughput_text, "of all ranks, with the 95 % interval"},
    {"step", 4,
     [](const RunRecord& run) {
       return human_text(field_of(run.step_seconds.median), Unit::seconds);
     },
     "median"},
    {"spread", 2, spread_text, "deviation from run to run"},
    {"clean", 5, clean_text, "undisturbed repetitions"},
    {"of peak", 1,
     [](const RunRecord& run) {
       return human_text(field_of(run.compute.utilization), Unit::fraction);
     },
     "share of the cores' measured peak"},
    {"speedup", 9, speedup_text, "over serial on one rank's threads"},
    {"efficiency", 11, efficiency_text, "speedup / n"},
    {"vs all cores", 6, all_cores_text, "over serial on all cores"},
    {"link", 7, link_text, "between two hosts, each way: latency, bandwidth"},
    {"within hosts", 8, within_hosts_text, "efficiency of one host's ranks, over one rank"},
    {"across hosts", 12, across_hosts_text, "speedup over one host's ranks / hosts"},
    {"predicted", 10, predicted_text,
     "the same, predicted from the link's cost: no overlap to full overlap"},
    {"step ratio", 13, versus_text, "mean step over that of the first engine (95 % interval)"},
    {"memory", 3, memory_text, ""},
}};

/// Whether the run has a figure that is told by the ends of its interval alone.
bool has_unknown_figure(const RunRecord& run) {
  if (!tells_throughput(run)) return false;
  const auto is_unknown = [](const std::optional<double>& value,
                             const std::optional<Interval>& interval) {
    return value && interval && form_of(*value, *interval) == IntervalForm::ends_alone;
  };
  if (is_unknown(run.throughput.value, run.throughput.ci95)) return true;
  if (!run.scaling) return false;
  const ScalingRecord& scaling = *run.scaling;
  return is_unknown(scaling.efficiency, scaling.efficiency_ci95) ||
         is_unknown(scaling.efficiency_vs_all_cores, scaling.efficiency_vs_all_cores_ci95) ||
         is_unknown(scaling.efficiency_across_hosts, scaling.efficiency_across_hosts_ci95);
}

}  // namespace

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
  fill_usual("threads", file, options, threads_text);
  fill_usual("engine", file, options, engine_text);
  std::vector<TextColumn> columns = key_columns(file);
  if (has_several_hosts(file)) columns.push_back(hosts_column(file));
  columns.insert(columns.end(), options.begin(), options.end());
  return columns;
}

bool varies(const TextColumn& column) {
  return std::ranges::adjacent_find(column.cells, std::ranges::not_equal_to()) !=
         column.cells.end();
}

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

std::vector<TextColumn> figure_columns(const ResultFile& file, int left_out) {
  std::vector<TextColumn> columns;
  for (const Figure& figure : kFigures) {
    if (figure.leaves != 0 && figure.leaves <= left_out) continue;
    TextColumn column{.heading = std::string(figure.heading),
                      .is_right = true,
                      .meaning = std::string(figure.meaning)};
    for (const RunRecord& run : file.runs)
      column.cells.push_back(tells_throughput(run) || figure.text == throughput_text
                                 ? figure.text(run)
                                 : std::string());
    if (std::ranges::any_of(column.cells, [](const std::string& cell) { return !cell.empty(); }))
      columns.push_back(std::move(column));
  }
  if (std::ranges::any_of(file.runs, has_unknown_figure))
    columns.front().meaning += "; low to high alone: not known well";
  return columns;
}

Table runs_table(const std::vector<TextColumn>& columns) {
  Table table{.name = "runs", .columns = {}};
  table.rows.resize(columns.front().cells.size());
  for (const TextColumn& column : columns) {
    table.columns.push_back(
        {.key = column.heading, .heading = column.heading, .is_right = column.is_right});
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      table.rows[row].emplace_back(column.cells[row]);
  }
  return table;
}

std::string meanings_text(const std::vector<TextColumn>& columns) {
  std::string text;
  for (const TextColumn& column : columns)
    if (!column.meaning.empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", column.heading, column.meaning);
  return text;
}

}  // namespace ptbench
