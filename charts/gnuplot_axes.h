#pragma once

#include <string>

#include "charts/chart.h"

namespace ptbench {

/// The commands that set ranges, scales and tics of both axes of `chart` for gnuplot.
[[nodiscard]] std::string gnuplot_axes(const Chart& chart);
}  // namespace ptbench
