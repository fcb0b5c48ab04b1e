#include "charts/interval_room.h"

#include <algorithm>
#include <limits>

namespace ptbench {
namespace {

/// The lowest and highest of all values and ends of intervals, and the lowest above 0.
struct Reach {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double least_positive = std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
    if (value > 0) least_positive = std::min(least_positive, value);
  }
};

Reach reach_of(const Chart& chart) {
  Reach reach;
  for (const Series& series : chart.series)
    for (const Point& point : series.points) {
      if (!point.interval) continue;
      reach.add(point.y);
      reach.add(point.interval->low);
      reach.add(point.interval->high);
    }
  return reach;
}

}  // namespace

void make_room_for_intervals(Chart& chart) {
  const Reach reach = reach_of(chart);
  if (reach.low > reach.high) return;
  if (chart.y.scale != AxisScale::linear) {
    const bool is_known = reach.least_positive < std::numeric_limits<double>::infinity();
    if (reach.low <= 0 && is_known && !chart.y.low) chart.y.low = reach.least_positive / 2;
    return;
  }
  const double room = 0.03 * (reach.high - reach.low);
  if (chart.y.low && reach.low < *chart.y.low) chart.y.low = reach.low - room;
  if (chart.y.high && reach.high > *chart.y.high) chart.y.high = reach.high + room;
}

}  // namespace ptbench
