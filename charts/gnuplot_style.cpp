#include "charts/gnuplot_style.h"

#include <fmt/format.h>

#include <array>

namespace ptbench {
namespace {

/// Circles, squares, triangles, diamonds, triangles upside down; the hollow ones are one less.
constexpr std::array<int, 5> kFilledPoints{7, 5, 9, 13, 11};
constexpr int kPlus = 1;
constexpr int kCross = 2;
constexpr std::array<std::string_view, 6> kDashes{"1", "'-'", "'.'", "'-.'", "'_'", "'-..'"};
/// Of references; 2 is the ideal's.
constexpr std::array<int, 3> kThinDashes{1, 3, 4};
/// Full, hatched this way, hatched that way, crossed, pale.
constexpr std::array<std::string_view, 5> kFills{"solid 0.9", "transparent pattern 5",
                                                 "transparent pattern 4", "transparent pattern 1",
                                                 "solid 0.4"};

}  // namespace

SeriesLook look_of(const Series& series, ChartTheme theme) {
  const ChartColours& colours = colours_of(theme);
  const std::size_t look = series.look;
  const bool is_part = series.style == SeriesStyle::stacked;
  const std::string_view colour = is_part ? colours.parts[look % colours.parts.size()]
                                          : colours.series[look % colours.series.size()];
  const int point = kFilledPoints[look % kFilledPoints.size()];
  int filled = point;
  int hollow = point - 1;
  if (series.shape == PointShape::hollow) filled = hollow;
  if (series.shape == PointShape::plus) filled = hollow = kPlus;
  if (series.shape == PointShape::cross) filled = hollow = kCross;
  return {
      .colour = colour,
      .filled_point = filled,
      .hollow_point = hollow,
      .dashes = kDashes[series.variant % kDashes.size()],
      .fill = fmt::format("{} border lc rgb '{}'", kFills[(look + series.variant) % kFills.size()],
                          is_part ? colours.text : colour),
      .empty_fill = fmt::format("empty border lc rgb '{}'", colour)};
}

std::string thin_line(const Series& series, ChartTheme theme) {
  const bool is_ideal = series.style == SeriesStyle::ideal;
  return fmt::format("with lines lw 1.2 dt {} lc rgb '{}'",
                     is_ideal ? 2 : kThinDashes[series.look % kThinDashes.size()],
                     colours_of(theme).faint);
}

}  // namespace ptbench
