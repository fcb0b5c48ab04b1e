#pragma once

#include <array>
#include <string>
#include <string_view>

#include "charts/gnuplot.h"

namespace ptbench {

/// Colours of a theme, as "#rrggbb".
struct GnuplotColours {
  std::string_view ground;
  std::string_view text;
  std::string_view faint;  ///< captions, lines that others are held against
  std::string_view grid;
  /// M. Okabe and K. Ito, "Color Universal Design" (2002): told apart whatever colours a reader
  /// sees; those with the most contrast to the ground first.
  std::array<std::string_view, 8> series;
};
[[nodiscard]] const GnuplotColours& colours_of(ChartTheme theme);

/// How series `number` of a chart looks: colours repeat after 8, their pairs with shapes and dashes
/// after 24 and 40, so that a chart can be read in grey too.
struct SeriesLook {
  std::string_view colour;
  int filled_point = 7;  ///< gnuplot's pointtype
  int hollow_point = 6;
  int dashes = 1;    ///< gnuplot's dashtype
  std::string fill;  ///< gnuplot's fillstyle, of bars
};
[[nodiscard]] SeriesLook look_of(std::size_t number, ChartTheme theme);

}  // namespace ptbench
