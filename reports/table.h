#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/measure/field_table.h"

namespace ptbench {

struct TableColumn {
  std::string key;      ///< in JSON, with its unit: "memory_bytes"
  std::string heading;  ///< for people
  Unit unit = Unit::none;
  bool is_right = false;  ///< texts are aligned as numbers are
};

/// Rows under one or more named columns, that can be printed as text, Markdown or JSON.
struct Table {
  std::string name;  ///< in JSON and as heading: "workloads"
  std::vector<TableColumn> columns;
  std::vector<std::vector<FieldValue>> rows;  ///< as many cells in each as there are columns
};

/// How wide texts are where no terminal says how wide it is.
inline constexpr std::size_t kUsualColumns = 100;

/// Aligned columns under their headings: numbers to the right, "-" where a cell is empty, the last
/// column broken into lines so that none is wider than `columns` (if it gets 30 of them).
[[nodiscard]] std::string table_text(const Table& table, std::size_t columns = kUsualColumns);

/// A Markdown table; '|' in cells is escaped.
[[nodiscard]] std::string table_markdown(const Table& table);

/// A JSON array of objects; bytes that are not UTF-8 are replaced, numbers that JSON lacks are
/// null.
[[nodiscard]] std::string table_json(const Table& table);

/// A JSON object with one array for each table.
[[nodiscard]] std::string tables_json(const std::vector<Table>& tables);

}  // namespace ptbench
