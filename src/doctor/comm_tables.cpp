#include "src/doctor/comm_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

std::string decimals(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 100 ? 2 : value < 10'000 ? 1 : 0);
}

/// Nothing where times mean nothing.
template <class Value>
FieldValue timed(const CommMeasurement& row, Value value) {
  return row.is_timed ? FieldValue(std::move(value)) : FieldValue();
}

constexpr const char* kType = "float";

/// Beneath the headings; blanks, as an empty cell would be shown as not known.
std::vector<FieldValue> units_row(std::size_t columns) {
  std::vector<FieldValue> row;
  for (const char* unit :
       {" ", "(B)", "(elements)", " ", " ", " ", "(us)", "(GB/s)", "(GB/s)", "(values)"})
    row.emplace_back(std::string(unit));
  row.resize(columns, FieldValue(std::string(" ")));
  return row;
}

bool has_several(const std::vector<CommMeasurement>& rows) {
  return std::ranges::any_of(rows, [&](const CommMeasurement& row) {
    return row.communicator != rows.front().communicator;
  });
}

void prepend_communicators(Table& table, const std::vector<CommMeasurement>& rows) {
  table.columns.insert(table.columns.begin(), {.key = "communicator", .heading = "by"});
  table.rows.front().insert(table.rows.front().begin(), std::string(" "));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<FieldValue>& shown = table.rows.at(i + 1);
    shown.insert(shown.begin(), rows[i].communicator);
  }
}

void append_places(Table& table, const std::vector<CommMeasurement>& rows) {
  table.columns.push_back({.key = "place", .heading = "place"});
  table.rows.front().emplace_back(std::string(" "));
  for (std::size_t i = 0; i < rows.size(); ++i)
    table.rows.at(i + 1).emplace_back(std::string(rows[i].is_apart ? "out" : "in"));
}

/// A row for each way, in place after out of place, as nccl-tests have them.
std::vector<CommMeasurement> by_way(const std::vector<CommMeasurement>& rows) {
  std::vector<CommMeasurement> all;
  for (const CommMeasurement& row : rows) {
    if (const auto apart = row.apart()) all.push_back(*apart);
    all.push_back(row);
  }
  return all;
}

void append_result(const CommMeasurement& row, std::vector<FieldValue>& cells) {
  cells.push_back(timed(row, row.seconds));
  cells.push_back(timed(row, row.algorithm_bandwidth()));
  cells.push_back(timed(row, row.bus_bandwidth()));
  cells.emplace_back(row.wrong);
}

}  // namespace

Table comm_json_table(const std::vector<CommMeasurement>& rows) {
  Table table{.name = "comm",
              .columns = {{.key = "collective"},
                          {.key = "communicator"},
                          {.key = "ranks"},
                          {.key = "bytes"},
                          {.key = "count"},
                          {.key = "type"},
                          {.key = "seconds"},
                          {.key = "algbw_bytes_per_second"},
                          {.key = "busbw_bytes_per_second"},
                          {.key = "wrong"},
                          {.key = "out_of_place_seconds"},
                          {.key = "out_of_place_algbw_bytes_per_second"},
                          {.key = "out_of_place_busbw_bytes_per_second"},
                          {.key = "out_of_place_wrong"}},
              .rows = {}};
  for (const CommMeasurement& row : rows) {
    std::vector<FieldValue> cells{row.collective, row.communicator,
                                  row.ranks,      static_cast<std::int64_t>(row.bytes()),
                                  row.count,      std::string(kType)};
    append_result(row, cells);
    if (const auto apart = row.apart())
      append_result(*apart, cells);
    else
      cells.resize(table.columns.size());
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table comm_text_table(const std::vector<CommMeasurement>& measured) {
  constexpr double kGiga = 1e9;
  constexpr double kMicro = 1e6;
  Table table{.name = "comm",
              .columns = {{.key = "collective", .heading = "collective"},
                          {.key = "size", .heading = "size", .is_right = true},
                          {.key = "count", .heading = "count", .is_right = true},
                          {.key = "type", .heading = "type"},
                          {.key = "redop", .heading = "redop"},
                          {.key = "root", .heading = "root", .is_right = true},
                          {.key = "time", .heading = "time", .is_right = true},
                          {.key = "algbw", .heading = "algbw", .is_right = true},
                          {.key = "busbw", .heading = "busbw", .is_right = true},
                          {.key = "wrong", .heading = "wrong"}},
              .rows = {}};
  table.rows.push_back(units_row(table.columns.size()));
  const std::vector<CommMeasurement> rows = by_way(measured);
  for (const CommMeasurement& row : rows)
    table.rows.push_back(
        {row.collective, fmt::format("{}", row.bytes()), fmt::format("{}", row.count),
         std::string(kType), std::string(row.sums() ? "sum" : "none"),
         fmt::format("{}", row.root().value_or(-1)), timed(row, decimals(kMicro * row.seconds)),
         timed(row, decimals(row.algorithm_bandwidth() / kGiga)),
         timed(row, decimals(row.bus_bandwidth() / kGiga)), fmt::format("{}", row.wrong)});
  if (rows.size() > measured.size()) append_places(table, rows);
  if (has_several(rows)) prepend_communicators(table, rows);
  return table;
}

std::string_view comm_columns_text() {
  return "\n# time: of the slowest rank, median over calls; algbw: size over time; busbw: what "
         "each "
         "link of a\n# ring would carry; wrong: values that are not what they should be; place: "
         "the "
         "result lies\n# where values were given (in, as training has it), or elsewhere (out)\n";
}

std::string comm_lines(const std::vector<CommMeasurement>& rows) {
  std::string text;
  for (const CommMeasurement& row : by_way(rows))
    text +=
        fmt::format("{} {} {} {} {:.17g} {} {} {}\n", row.collective, row.communicator, row.ranks,
                    row.count, row.seconds, row.is_timed ? 1 : 0, row.wrong, row.is_apart ? 1 : 0);
  return text;
}

std::vector<CommMeasurement> read_comm_lines(const std::string& text) {
  std::vector<CommMeasurement> rows;
  std::istringstream lines(text);
  std::optional<CommOutcome> apart;  // of the row to come
  for (std::string line; std::getline(lines, line);) {
    CommMeasurement row;
    std::istringstream words(line);
    words >> row.collective >> row.communicator >> row.ranks >> row.count >> row.seconds >>
        row.is_timed >> row.wrong >> row.is_apart;
    ensure(!words.fail(), "a rank prints lines of comm");
    if (row.is_apart) {
      apart = {.seconds = row.seconds, .wrong = row.wrong};
      continue;
    }
    row.out_of_place = std::exchange(apart, std::nullopt);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ptbench
