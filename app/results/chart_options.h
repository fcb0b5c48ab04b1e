#pragma once

#include <string>
#include <vector>

#include "src/base/option_table.h"

namespace ptbench {

/// What `ptbench chart` is told.
struct ChartOptions {
  std::vector<std::string> files;
  std::vector<std::string> outputs;
  std::vector<std::string> charts;  ///< names in the catalog; empty: all that the records allow
  std::vector<std::string> runs;    ///< parts of ids; empty: all runs
  std::string theme = "light";
};

[[nodiscard]] OptionTable<ChartOptions> chart_option_table();

}  // namespace ptbench
