#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "charts/chart.h"

namespace ptbench {

/// The x of all points of a chart.
[[nodiscard]] std::set<double> places_of(const Chart& chart);

/// Whether a chart is of bars whose parts add up.
[[nodiscard]] bool has_stacks(const Chart& chart);

/// Whether a chart is of bars that stand beside each other.
[[nodiscard]] bool has_bars(const Chart& chart);

/// Where the bars of a chart stand that has some beside each other (without any there is no place):
/// its places are 0, 1, … in the order of x, and the bars of a place share the room around it.
class BarPlaces {
 public:
  explicit BarPlaces(const Chart& chart);

  /// The x of each place.
  [[nodiscard]] const std::vector<double>& places() const { return places_; }
  /// The place of `x`, which is one of them.
  [[nodiscard]] double place_of(double x) const;
  /// The middle of the bar of `series`, one of the chart's, at `x`, where it has a point.
  [[nodiscard]] double middle_of(const Series& series, double x) const;
  [[nodiscard]] double half_width() const { return half_width_; }

 private:
  const Chart* chart_;
  std::vector<double> places_;
  double half_width_ = 0;
};

}  // namespace ptbench
