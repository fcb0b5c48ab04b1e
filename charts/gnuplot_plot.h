#pragma once

#include <string>

#include "charts/chart.h"
#include "charts/gnuplot.h"

namespace ptbench {

/// The data blocks of `chart` and the `plot` command that draws them.
[[nodiscard]] std::string gnuplot_plot(const Chart& chart, ChartTheme theme);

}  // namespace ptbench
