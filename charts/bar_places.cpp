#include "charts/bar_places.h"

#include <algorithm>

namespace ptbench {
namespace {

constexpr double kRoom = 0.8;      // of a place, for its bars
constexpr double kWidest = 0.15;   // of a bar
constexpr double kCovered = 0.84;  // of a bar's room by the bar

bool has_style(const Chart& chart, SeriesStyle style) {
  return std::ranges::find(chart.series, style, &Series::style) != chart.series.end();
}

bool is_bar_at(const Series& series, double x) {
  return series.style == SeriesStyle::bars &&
         std::ranges::find(series.points, x, &Point::x) != series.points.end();
}

double bars_at(const Chart& chart, double x) {
  return static_cast<double>(std::ranges::count_if(
      chart.series, [x](const Series& series) { return is_bar_at(series, x); }));
}

}  // namespace

bool has_stacks(const Chart& chart) { return has_style(chart, SeriesStyle::stacked); }

bool has_bars(const Chart& chart) { return has_style(chart, SeriesStyle::bars); }

std::set<double> places_of(const Chart& chart) {
  std::set<double> places;
  for (const Series& series : chart.series)
    for (const Point& point : series.points) places.insert(point.x);
  return places;
}

BarPlaces::BarPlaces(const Chart& chart) : chart_(&chart) {
  if (!has_bars(chart)) return;
  const std::set<double> places = places_of(chart);
  places_.assign(places.begin(), places.end());
  double most = 1;
  for (const double x : places_) most = std::max(most, bars_at(chart, x));
  half_width_ = kCovered * std::min(kRoom / most, kWidest) / 2;
}

double BarPlaces::place_of(double x) const {
  return static_cast<double>(std::ranges::lower_bound(places_, x) - places_.begin());
}

double BarPlaces::middle_of(const Series& series, double x) const {
  double before = 0;
  for (const Series& other : chart_->series) {
    if (&other == &series) break;
    if (is_bar_at(other, x)) ++before;
  }
  const double from_middle = before - (bars_at(*chart_, x) - 1) / 2;
  return place_of(x) + from_middle * 2 * half_width_ / kCovered;
}

}  // namespace ptbench
