#include <algorithm>
#include <cstddef>
#include <set>

#include "charts/charted_runs.h"

namespace ptbench {
namespace {

constexpr std::size_t kFewPlaces = 2;

bool is_value(const Series& series) {
  return series.style == SeriesStyle::line || series.points.size() == 1;
}

}  // namespace

void draw_few_places_as_bars(Chart& chart) {
  std::set<double> places;
  for (const Series& series : chart.series)
    if (is_value(series))
      for (const Point& point : series.points) places.insert(point.x);
  if (places.size() > kFewPlaces) return;
  for (Series& series : chart.series)
    if (series.style == SeriesStyle::line) series.style = SeriesStyle::bars;
  chart.x.scale = AxisScale::linear;
  chart.y.scale = AxisScale::linear;
  chart.y.low = 0;
}

}  // namespace ptbench
