#pragma once

#include <span>
#include <string>
#include <vector>

#include "charts/chart.h"
#include "charts/gnuplot.h"

namespace ptbench {

/// The files that `charts` are drawn into where a user named `output`: that file for one chart and
/// for a PDF; "scaling-speedup.svg", "scaling-loss.svg", … for several and "scaling.svg".
[[nodiscard]] std::vector<std::string> drawing_paths(const std::string& output,
                                                     std::span<const Chart> charts,
                                                     DrawingFormat format);

/// Draws `charts` into these files, each whole or not at all, and tells on standard error what is
/// in which. Errors as those of `draw` and `OutputFile`: then no file has changed, but where the
/// writing of a later one fails.
void write_drawings(const std::string& output, std::span<const Chart> charts,
                    const Drawing& drawing);

}  // namespace ptbench
