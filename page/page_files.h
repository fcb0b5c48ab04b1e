#pragma once

#include <string_view>

namespace ptbench {

// The files of this folder that every page carries, as they were when the program was built.

extern const std::string_view kPageStyle;    ///< page.css
extern const std::string_view kTableScript;  ///< tables.js
extern const std::string_view kChartScript;  ///< looks.js, chart_plugins.js and charts.js

}  // namespace ptbench
