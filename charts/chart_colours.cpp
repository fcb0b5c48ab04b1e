#include "charts/chart_colours.h"

#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr std::array<std::string_view, 9> kParts{"#77aadd", "#ee8866", "#eedd88",
                                                 "#44bb99", "#ffaabb", "#bbcc33",
                                                 "#99ddff", "#aaaa00", "#dddddd"};
constexpr ChartColours kLight{.ground = "#ffffff",
                              .text = "#1a1a1a",
                              .faint = "#5f6368",
                              .grid = "#dadce0",
                              .series = {"#0072b2", "#d55e00", "#007a5a", "#b0568a", "#9a6700",
                                         "#2f8fcb", "#5b5b5b", "#6a4fb3"},
                              .parts = kParts};
constexpr ChartColours kDark{.ground = "#16181d",
                             .text = "#e8eaed",
                             .faint = "#9aa0a6",
                             .grid = "#3c4043",
                             .series = {"#58b0e8", "#ff8f4a", "#3fc79a", "#e59bc4", "#e6b03c",
                                        "#9fd4f7", "#b9b9b9", "#b3a0f0"},
                             .parts = kParts};

}  // namespace

std::string_view name_of(ChartTheme theme) {
  switch (theme) {
    case ChartTheme::light: return "light";
    case ChartTheme::dark: return "dark";
  }
  throw Defect("a theme without a name");
}

const ChartColours& colours_of(ChartTheme theme) {
  return theme == ChartTheme::dark ? kDark : kLight;
}

}  // namespace ptbench
