#include "reports/table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "reports/field_text.h"
#include "reports/json_text.h"
#include "reports/wrap.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLeastLastColumn = 30;

bool is_right(const Table& table, std::size_t column) {
  return table.columns[column].is_right ||
         std::ranges::any_of(table.rows, [column](const std::vector<FieldValue>& row) {
           return std::holds_alternative<std::int64_t>(row[column]) ||
                  std::holds_alternative<double>(row[column]);
         });
}

/// Of each column but the last.
std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines.front().size() - 1);
  for (const std::vector<std::string>& line : lines)
    for (std::size_t column = 0; column < widths.size(); ++column)
      widths[column] = std::max(widths[column], code_points(line[column]));
  return widths;
}

std::string cell_text(const FieldValue& cell, Unit unit) {
  const std::string text = human_text(cell, unit);
  return text.empty() ? "-" : text;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string blanks(width - std::min(width, code_points(text)), ' ');
  return right ? blanks + text : text + blanks;
}

/// All cells as text, the headings first.
std::vector<std::vector<std::string>> texts_of(const Table& table) {
  std::vector<std::vector<std::string>> lines(1);
  for (const TableColumn& column : table.columns) lines[0].push_back(column.heading);
  for (const std::vector<FieldValue>& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (std::size_t column = 0; column < row.size(); ++column)
      line.push_back(cell_text(row[column], table.columns.at(column).unit));
  }
  return lines;
}

Json json_of(const FieldValue& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<Value, double>)
          return std::isfinite(value) ? Json(value) : Json(nullptr);
        else
          return value;
      },
      cell);
}

Json json_of(const Table& table) {
  Json rows = Json::array();
  for (const std::vector<FieldValue>& row : table.rows) {
    Json object = Json::object();
    for (std::size_t column = 0; column < row.size(); ++column)
      object[table.columns.at(column).key] = json_of(row[column]);
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace

std::string table_text(const Table& table, std::size_t columns) {
  const std::vector<std::vector<std::string>> lines = texts_of(table);
  const std::vector<std::size_t> widths = widths_of(lines);
  const std::size_t last = widths.size();
  std::vector<bool> right;
  for (std::size_t column = 0; column < last; ++column) right.push_back(is_right(table, column));
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string start;
    for (std::size_t column = 0; column < last; ++column)
      start += padded(line[column], widths[column], right[column]) + "  ";
    const std::size_t indent = code_points(start);
    text +=
        start + wrapped(line[last], indent, std::max(columns, indent + kLeastLastColumn)) + "\n";
  }
  return text;
}

std::string table_markdown(const Table& table) {
  std::string text;
  const std::vector<std::vector<std::string>> lines = texts_of(table);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    for (std::string cell : lines[at]) {
      for (std::size_t bar = cell.find('|'); bar != std::string::npos;
           bar = cell.find('|', bar + 2))
        cell.insert(bar, "\\");
      text += "| " + cell + " ";
    }
    text += "|\n";
    if (at > 0) continue;
    for (std::size_t column = 0; column < table.columns.size(); ++column) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string table_json(const Table& table) { return json_text(json_of(table)) + "\n"; }

std::string tables_json(const std::vector<Table>& tables) {
  Json object = Json::object();
  for (const Table& table : tables) object[table.name] = json_of(table);
  return json_text(object) + "\n";
}

}  // namespace ptbench
