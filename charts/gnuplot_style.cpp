#include "charts/gnuplot_style.h"

#include <fmt/format.h>

#include "src/base/error.h"

namespace ptbench {
namespace {

// White swallows yellow: grey takes its place.
constexpr GnuplotColours kLight{.ground = "#ffffff",
                                .text = "#1a1a1a",
                                .faint = "#5f6368",
                                .grid = "#dadce0",
                                .series = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                           "#56b4e9", "#000000", "#7f7f7f"}};
constexpr GnuplotColours kDark{.ground = "#16181d",
                               .text = "#e8eaed",
                               .faint = "#9aa0a6",
                               .grid = "#3c4043",
                               .series = {"#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7",
                                          "#d55e00", "#ffffff", "#0072b2"}};

/// Squares, circles, triangles, …: filled ones; the hollow ones are one less.
constexpr std::array<int, 6> kFilledPoints{7, 5, 9, 13, 11, 15};
constexpr int kDashTypes = 5;
/// Full, hatched this way, hatched that way, crossed, …
constexpr std::array<std::string_view, 5> kFills{"solid 0.9", "transparent pattern 4",
                                                 "transparent pattern 5", "transparent pattern 2",
                                                 "solid 0.5"};

}  // namespace

std::string_view name_of(ChartTheme theme) {
  switch (theme) {
    case ChartTheme::light: return "light";
    case ChartTheme::dark: return "dark";
  }
  throw Defect("a theme without a name");
}

const GnuplotColours& colours_of(ChartTheme theme) {
  return theme == ChartTheme::dark ? kDark : kLight;
}

SeriesLook look_of(std::size_t number, ChartTheme theme) {
  const GnuplotColours& colours = colours_of(theme);
  const int point = kFilledPoints[number % kFilledPoints.size()];
  return {
      .colour = colours.series[number % colours.series.size()],
      .filled_point = point,
      .hollow_point = point - 1,
      .dashes = 1 + static_cast<int>(number % kDashTypes),
      .fill = fmt::format("{} border lc rgb '{}'", kFills[number % kFills.size()], colours.text)};
}

}  // namespace ptbench
