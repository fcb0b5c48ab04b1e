#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "charts/chart.h"
#include "charts/chart_colours.h"

namespace ptbench {

enum class DrawingFormat : std::uint8_t { svg, png, pdf };

/// How charts are drawn.
struct Drawing {
  DrawingFormat format = DrawingFormat::svg;
  ChartTheme theme = ChartTheme::light;
  bool with_heading = true;  ///< false: title and caption stand elsewhere, as in a page
};

/// A script that has gnuplot 5.4 draw each of `charts` into the file of `files` at its place, or
/// all of them, a page each, into the only file of `files` (PDF). Data stand in the script; texts
/// cannot leave their quotes. Equal charts give equal scripts.
[[nodiscard]] std::string gnuplot_script(std::span<const Chart> charts,
                                         std::span<const std::string> files,
                                         const Drawing& drawing);

/// `svg` as gnuplot drew it, with the title and the caption of `chart` for those who hear it read,
/// in place of gnuplot's own words. Without these it stays as it is.
[[nodiscard]] std::string titled_svg(std::string svg, const Chart& chart);

}  // namespace ptbench
