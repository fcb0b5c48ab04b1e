#include "src/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace ptbench {
namespace {

/// Three significant digits without an exponent: 1.23, 12.3, 123, 1234.
std::string three_digits(double value) {
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string format_bytes(Bytes bytes) {
  static constexpr std::array<std::string_view, 7> units{"B",   "KiB", "MiB", "GiB",
                                                         "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(value), units.at(unit));
}

std::string format_duration(double seconds) {
  constexpr double kMostHours = 1e9;  // beyond it, whole numbers say nothing and need not fit
  const double magnitude = std::abs(seconds);
  if (!(magnitude < kMostHours * 3600)) return fmt::format("{:.3g} s", seconds);
  if (magnitude >= 59.95) {
    const auto whole = static_cast<Size>(std::llround(seconds));
    if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  if (magnitude == 0) return "0 s";
  if (magnitude >= 0.9995) return three_digits(seconds) + " s";
  if (magnitude >= 0.9995e-3) return three_digits(seconds * 1e3) + " ms";
  if (magnitude >= 0.9995e-6) return three_digits(seconds * 1e6) + " µs";
  return three_digits(seconds * 1e9) + " ns";
}

std::string format_percent(double fraction) {
  constexpr double kLongest = 1e6;
  const double percent = 100 * fraction;
  if (!(std::abs(percent) < kLongest)) return fmt::format("{:.3g} %", percent);
  return three_digits(percent) + " %";
}

std::string format_si(double value) {
  static constexpr std::array<std::string_view, 7> prefixes{"", " k", " M", " G", " T", " P", " E"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return three_digits(value) + std::string(prefixes.at(prefix));
}

std::string format_count(Size count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t sign = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace ptbench
