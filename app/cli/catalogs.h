#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/table.h"

namespace ptbench {

/// What `ptbench list` can list, in its order. To add one: a function and a row in catalogs.cpp.
[[nodiscard]] std::vector<std::string> catalog_names();

/// The catalog `name`, one row an entry; a defect for a name that is not in catalog_names().
[[nodiscard]] Table catalog_table(std::string_view name);

[[nodiscard]] std::vector<Table> all_catalogs();

/// The catalogs themselves, a row each with what it holds.
[[nodiscard]] Table catalog_overview();

}  // namespace ptbench
