#pragma once

#include <span>
#include <string>
#include <vector>

#include "charts/chart.h"
#include "charts/gnuplot.h"

namespace ptbench {

/// Whether a program `gnuplot` that may be run is on PATH.
[[nodiscard]] bool gnuplot_is_there();

/// Throws a capability error (exit 5) with the remedy unless it is.
void require_gnuplot();

/// The bytes of drawn files, by one process of gnuplot: SVG and PNG one a chart, in their order;
/// PDF one of as many pages. Equal charts give equal SVG, byte for byte; the ids in it begin with
/// the chart's name. None for no charts. Errors: capability (exit 5) where gnuplot is not there or
/// lacks the format; run (exit 2) where it fails or takes longer than a minute, with what it said.
[[nodiscard]] std::vector<std::string> draw(std::span<const Chart> charts, const Drawing& drawing);

}  // namespace ptbench
