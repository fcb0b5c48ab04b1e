#include "charts/gnuplot_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "charts/bar_places.h"
#include "charts/gnuplot_text.h"

namespace ptbench {
namespace {

constexpr std::size_t kMostLabels = 20;     // along an axis of categories
constexpr std::size_t kMostTics = 12;       // along an axis of numbers
constexpr std::size_t kLongestLabel = 36;   // letters
constexpr std::size_t kLettersInARow = 75;  // of labels side by side, before they are tilted
constexpr double kMargin = 0.05;            // of the axis, beside the first and last point

std::string range_command(char axis, double low, double high) {
  return fmt::format("set {}range [{}:{}]\n", axis, low, high);
}

/// The range of an axis of numbers, a little wider than its values.
std::string number_range(const std::set<double>& places, bool is_log) {
  if (places.empty()) return {};
  double low = *places.begin();
  double high = *places.rbegin();
  if (is_log) {
    const double factor = low < high ? std::pow(high / low, kMargin) : 2;
    return range_command('x', low / factor, high * factor);
  }
  const double margin = low < high ? kMargin * (high - low) : std::max(1.0, std::abs(low) / 2);
  return range_command('x', low - margin, high + margin);
}

std::string tic(std::string_view label, double place) {
  return fmt::format("{} {}", gnuplot_label(label), place);
}

std::string tics_command(const std::vector<std::string>& tics, std::string_view turned = "") {
  return fmt::format("set xtics {} ({})\n", turned, fmt::join(tics, ", "));
}

/// "64 KiB" of 16.
std::string power_text(int power) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const auto unit = static_cast<std::size_t>(power) / 10;
  return fmt::format("{} {}", 1 << power % 10, kUnits.at(unit));
}

/// Powers of two of bytes, few enough to have room.
std::string byte_tics(const std::set<double>& places) {
  if (places.empty()) return {};
  const int low = static_cast<int>(std::floor(std::log2(*places.begin())));
  const int high = static_cast<int>(std::ceil(std::log2(*places.rbegin())));
  const int pace = 1 + (high - low) / static_cast<int>(kMostTics);
  std::vector<std::string> tics;
  for (int power = low; power <= high; power += pace)
    tics.push_back(tic(power_text(power), std::ldexp(1.0, power)));
  return tics_command(tics);
}

/// Where there are points, or as gnuplot likes where these are many.
std::string whole_tics(const std::set<double>& places) {
  if (places.empty() || places.size() > kMostTics) return {};
  std::vector<std::string> tics;
  for (const double place : places) tics.push_back(tic(fmt::format("{:.15g}", place), place));
  return tics_command(tics);
}

/// Bars that are not to be relied on, which a ring marks as in tables.
std::set<std::size_t> doubtful_places(const Chart& chart) {
  std::set<std::size_t> doubtful;
  if (!has_stacks(chart)) return doubtful;
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      if (!point.trusted) doubtful.insert(static_cast<std::size_t>(point.x));
  return doubtful;
}

std::string category_tics(const Chart& chart) {
  const std::vector<std::string>& names = chart.x.categories;
  const std::set<std::size_t> doubtful = doubtful_places(chart);
  const std::size_t pace = 1 + (names.size() - 1) / kMostLabels;
  std::vector<std::string> tics;
  std::size_t letters = 0;
  for (std::size_t place = 0; place < names.size(); ++place) {
    if (!has_stacks(chart) && place % pace != 0) continue;
    const std::string name =
        (doubtful.contains(place) ? "○ " : "") + shortened(names[place], kLongestLabel);
    letters += name.size() + 2;
    tics.push_back(tic(name, static_cast<double>(place)));
  }
  const double end = has_stacks(chart) ? 0.7 : 0.5;
  return range_command('x', -end, static_cast<double>(names.size()) - 1 + end) +
         tics_command(tics, letters > kLettersInARow ? "rotate by -40" : "");
}

/// The places of bars that stand beside each other.
std::string bar_tics(const Chart& chart) {
  const std::vector<double> places = BarPlaces(chart).places();
  std::vector<std::string> tics;
  for (std::size_t at = 0; at < places.size(); ++at)
    tics.push_back(tic(fmt::format("{:.15g}", places[at]), static_cast<double>(at)));
  return range_command('x', -0.5, static_cast<double>(places.size()) - 0.5) + tics_command(tics);
}

std::string x_tics(const Chart& chart) {
  if (has_bars(chart)) return bar_tics(chart);
  if (!chart.x.categories.empty()) return category_tics(chart);
  const std::set<double> places = places_of(chart);
  std::string text = number_range(places, chart.x.scale != AxisScale::linear);
  if (chart.x.numbers == AxisNumbers::bytes) text += byte_tics(places);
  if (chart.x.numbers == AxisNumbers::whole) text += whole_tics(places);
  return text;
}

std::string scale_command(char name, AxisScale scale) {
  if (scale == AxisScale::linear) return {};
  return fmt::format("set logscale {} {}\n", name, scale == AxisScale::log2 ? 2 : 10);
}

std::string end_text(const std::optional<double>& end, bool is_log) {
  return end && (!is_log || *end > 0) ? fmt::format("{}", *end) : "*";
}

}  // namespace

std::string gnuplot_axes(const Chart& chart) {
  const bool is_log = chart.y.scale != AxisScale::linear;
  std::string text = scale_command('x', chart.x.scale) + scale_command('y', chart.y.scale);
  text += fmt::format("set format '%.10g'\nset xlabel {}\nset ylabel {}\n",
                      gnuplot_quoted(shortened(chart.x.title, 80)),
                      gnuplot_quoted(shortened(chart.y.title, 60)));
  text += fmt::format("set yrange [{}:{}]\n", end_text(chart.y.low, is_log),
                      end_text(chart.y.high, is_log));
  return text + x_tics(chart);
}

}  // namespace ptbench
