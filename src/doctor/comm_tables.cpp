#include "src/doctor/comm_tables.h"

#include <fmt/format.h>

#include <algorithm>
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
std::vector<FieldValue> units_row() {
  std::vector<FieldValue> row;
  for (const char* unit :
       {" ", "(B)", "(elements)", " ", " ", " ", "(us)", "(GB/s)", "(GB/s)", "(values)"})
    row.emplace_back(std::string(unit));
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

}  // namespace

Table comm_json_table(const std::vector<CommMeasurement>& rows) {
  Table table{.name = "comm",
              .columns = {{.key = "collective", .heading = {}},
                          {.key = "communicator", .heading = {}},
                          {.key = "ranks", .heading = {}},
                          {.key = "bytes", .heading = {}},
                          {.key = "count", .heading = {}},
                          {.key = "type", .heading = {}},
                          {.key = "seconds", .heading = {}},
                          {.key = "algbw_bytes_per_second", .heading = {}},
                          {.key = "busbw_bytes_per_second", .heading = {}},
                          {.key = "wrong", .heading = {}}},
              .rows = {}};
  for (const CommMeasurement& row : rows)
    table.rows.push_back({row.collective, row.communicator, row.ranks,
                          static_cast<std::int64_t>(row.bytes()), row.count, std::string(kType),
                          timed(row, row.seconds), timed(row, row.algorithm_bandwidth()),
                          timed(row, row.bus_bandwidth()), row.wrong});
  return table;
}

Table comm_text_table(const std::vector<CommMeasurement>& rows) {
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
              .rows = {units_row()}};
  for (const CommMeasurement& row : rows)
    table.rows.push_back(
        {row.collective, fmt::format("{}", row.bytes()), fmt::format("{}", row.count),
         std::string(kType), std::string(row.sums() ? "sum" : "none"),
         fmt::format("{}", row.root().value_or(-1)), timed(row, decimals(kMicro * row.seconds)),
         timed(row, decimals(row.algorithm_bandwidth() / kGiga)),
         timed(row, decimals(row.bus_bandwidth() / kGiga)), fmt::format("{}", row.wrong)});
  if (has_several(rows)) prepend_communicators(table, rows);
  return table;
}

std::string_view comm_columns_text() {
  return "\n# time: of the slowest rank, median over calls; algbw: size over time; busbw: what "
         "each "
         "link of a\n# ring would carry; wrong: values that are not what they should be\n";
}

std::string comm_lines(const std::vector<CommMeasurement>& rows) {
  std::string text;
  for (const CommMeasurement& row : rows)
    text += fmt::format("{} {} {} {} {:.17g} {} {}\n", row.collective, row.communicator, row.ranks,
                        row.count, row.seconds, row.is_timed ? 1 : 0, row.wrong);
  return text;
}

std::vector<CommMeasurement> read_comm_lines(const std::string& text) {
  std::vector<CommMeasurement> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CommMeasurement& row = rows.emplace_back();
    std::istringstream words(line);
    words >> row.collective >> row.communicator >> row.ranks >> row.count >> row.seconds >>
        row.is_timed >> row.wrong;
    ensure(!words.fail(), "a rank prints lines of comm");
  }
  return rows;
}

}  // namespace ptbench
