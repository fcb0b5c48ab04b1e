#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "charts/chart.h"
#include "charts/chart_source.h"

namespace ptbench {

/// A row of the chart catalog.
struct ChartRow {
  std::string_view name;     ///< as in `--chart`
  std::string_view summary;  ///< one line for help
  std::string_view needs;    ///< what records must have: "runs of a sweep with --scaling"
  /// The charts that the records allow, each unnamed; none where there is nothing to show.
  std::vector<Chart> (*make)(const ChartSource&);
};

/// All charts, in the order in which a reader wants them. To add one: a file beside speedup.cpp,
/// its declaration in charts.h, and a row in chart_catalog.cpp.
[[nodiscard]] std::span<const ChartRow> chart_catalog();

[[nodiscard]] std::vector<std::string> chart_names();

/// The charts of the rows called `names` (all rows where there are none), in the catalog's order,
/// each with its name. A usage error with a suggestion for a name that is in no row.
[[nodiscard]] std::vector<Chart> make_charts(const ChartSource& source,
                                             std::span<const std::string> names = {});

}  // namespace ptbench
