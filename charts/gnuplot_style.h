#pragma once

#include <string>
#include <string_view>

#include "charts/chart.h"
#include "charts/chart_colours.h"

namespace ptbench {

/// How a series looks: colours repeat after 8 (of parts after 9), marks and hatching after 5, and
/// both after 40, so that a chart can be read in grey too.
struct SeriesLook {
  std::string_view colour;
  int filled_point = 7;  ///< gnuplot's pointtype
  int hollow_point = 6;
  std::string_view dashes = "1";  ///< gnuplot's dashtype
  std::string fill;               ///< gnuplot's fillstyle, of bars and their parts
  std::string empty_fill;         ///< the same, of bars that are not reliable
};
[[nodiscard]] SeriesLook look_of(const Series& series, ChartTheme theme);

/// "with lines …": the thin line of an ideal or a reference.
[[nodiscard]] std::string thin_line(const Series& series, ChartTheme theme);

}  // namespace ptbench
