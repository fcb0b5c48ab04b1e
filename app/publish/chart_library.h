#pragma once

#include <string>

namespace ptbench {

/// The JavaScript library that draws charts in a browser, as text for a page.
struct ChartLibrary {
  std::string text;     ///< empty: there is none
  std::string problem;  ///< why there is none, and the remedy
};

/// Chart.js 3, from Debian's libjs-chart.js, or from the file that the variable PTBENCH_CHART_JS
/// names; none where the variable is empty. Throws a usage error where it names anything else than
/// a copy of Chart.js.
[[nodiscard]] ChartLibrary read_chart_library();

/// Throws as that does, and reads nothing where the variable names no file.
void check_chart_library();

}  // namespace ptbench
