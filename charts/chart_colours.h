#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ptbench {

/// On a white ground, or on a dark one.
enum class ChartTheme : std::uint8_t { light, dark };
[[nodiscard]] std::string_view name_of(ChartTheme theme);

/// Colours of a theme, as "#rrggbb", for gnuplot and for the page.
struct ChartColours {
  std::string_view ground;
  std::string_view text;
  std::string_view faint;  ///< captions, lines that others are held against
  std::string_view grid;
  /// After M. Okabe and K. Ito, "Color Universal Design" (2002), darkened or lightened until each
  /// has contrast to the ground: told apart whatever colours a reader sees.
  std::array<std::string_view, 8> series;
  /// Of parts of bars: P. Tol, "Colour Schemes" (2021), the light scheme, which is made for areas
  /// and has no colour of `series`.
  std::array<std::string_view, 9> parts;
};
[[nodiscard]] const ChartColours& colours_of(ChartTheme theme);

}  // namespace ptbench
