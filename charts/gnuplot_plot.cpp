#include "charts/gnuplot_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <vector>

#include "charts/bar_places.h"
#include "charts/gnuplot_style.h"
#include "charts/gnuplot_text.h"

namespace ptbench {
namespace {

constexpr std::size_t kLongestName = 36;  // letters, in the legend
constexpr double kHalfBar = 0.35;
constexpr std::size_t kManyPoints = 200;  // of a series: then all are drawn small
constexpr double kStepAside = 0.012;      // of the axis, from one series to the next

/// Moves the series of a chart a little aside from each other, so that intervals at equal whole
/// numbers do not hide each other. Where the axis is no such one, nothing moves.
class StepsAside {
 public:
  explicit StepsAside(const Chart& chart) : is_log_(chart.x.scale != AxisScale::linear) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const Series& series : chart.series) {
      for (const Point& point : series.points) {
        least = std::min(least, point.x);
        most = std::max(most, point.x);
      }
      if (chart.x.numbers == AxisNumbers::whole && has_intervals(series)) ++count_;
    }
    if (least < most) span_ = is_log_ ? std::log(most / least) : most - least;
  }

  /// Where the next series with intervals lies beside its own places, in steps.
  [[nodiscard]] double next() {
    if (count_ < 2) return 0;
    return static_cast<double>(number_++) - static_cast<double>(count_ - 1) / 2;
  }

  /// `x` so many steps aside.
  [[nodiscard]] double moved(double x, double steps) const {
    const double aside = steps * kStepAside * span_;
    return is_log_ ? x * std::exp(aside) : x + aside;
  }

 private:
  static bool has_intervals(const Series& series) {
    return (series.style == SeriesStyle::line || series.style == SeriesStyle::points) &&
           std::ranges::any_of(series.points,
                               [](const Point& point) { return point.interval.has_value(); });
  }

  bool is_log_;
  double span_ = 0;
  std::size_t count_ = 0;
  std::size_t number_ = 0;
};

/// From low to high, with a bar at either end: gnuplot's own error bars leave a gap at the value.
std::string interval_line(std::string_view colour) {
  return fmt::format(
      "using 1:3:(0):($4-$3) with vectors heads size graph 0.006,90 lw 1.2 lc rgb '{}'", colour);
}

/// Data blocks and the elements of the plot command that draw them.
class Plot {
 public:
  Plot(const Chart& chart, ChartTheme theme)
      : chart_(chart), theme_(theme), aside_(chart), places_(chart) {
    is_log_ = chart.y.scale != AxisScale::linear;
    for (const Series& series : chart.series)
      most_points_ = std::max(most_points_, series.points.size());
  }

  [[nodiscard]] std::string text() {
    if (has_stacks(chart_))
      add_stacks();
    else
      add_lines();
    std::vector<std::string> all = std::move(legend_);
    std::ranges::move(elements_, std::back_inserter(all));
    return fmt::format("{}plot {}\n", blocks_, fmt::join(all, ", \\\n  "));
  }

 private:
  /// `rows` as a data block; its name.
  std::string block(const std::string& rows) {
    std::string name = fmt::format("$d{}", ++block_count_);
    blocks_ += fmt::format("{} << EOD\n{}EOD\n", name, rows);
    return name;
  }

  void element(const std::string& rows, const std::string& how) {
    if (!rows.empty()) elements_.push_back(fmt::format("{} {} notitle", block(rows), how));
  }

  void legend(const std::string& name, const std::string& how) {
    legend_.push_back(
        fmt::format("keyentry {} title {}", how, gnuplot_quoted(shortened(name, kLongestName))));
  }

  [[nodiscard]] bool can_be_drawn(double y) const { return !is_log_ || y > 0; }

  void add_lines() {
    for (const Series& series : chart_.series) {
      if (series.points.empty()) continue;
      if (series.style == SeriesStyle::ideal || series.style == SeriesStyle::reference)
        add_thin_line(series);
      else if (series.style == SeriesStyle::bars)
        add_bars(series);
      else
        add_points(series);
    }
    if (!all_trusted_)
      legend("hollow: not reliable",
             fmt::format("with points pt 6 lc rgb '{}'", colours_of(theme_).faint));
  }

  /// Level across the bars of each place where there are bars, and around a single value.
  void add_thin_line(const Series& series) {
    constexpr double kAcross = 0.45;   // of a place, to either side
    constexpr double kStepsAside = 4;  // around a single value
    std::string rows;
    for (const Point& point : series.points) {
      if (!can_be_drawn(point.y)) continue;
      if (has_bars(chart_)) {
        const double place = places_.place_of(point.x);
        rows += fmt::format("{} {}\n{} {}\n\n", place - kAcross, point.y, place + kAcross, point.y);
      } else if (series.points.size() == 1) {
        rows += fmt::format("{} {}\n{} {}\n", aside_.moved(point.x, -kStepsAside), point.y,
                            aside_.moved(point.x, kStepsAside), point.y);
      } else {
        rows += fmt::format("{} {}\n", point.x, point.y);
      }
    }
    const std::string how = thin_line(series, theme_);
    element(rows, "using 1:2 " + how);
    legend(series.name, how);
  }

  /// As far down as the axis goes: a logarithmic one has no 0.
  [[nodiscard]] Interval shown(const Interval& interval) const {
    const double low =
        is_log_ ? std::max(interval.low, chart_.y.low.value_or(interval.low)) : interval.low;
    return {.low = low, .high = interval.high};
  }

  void add_bars(const Series& series) {
    const SeriesLook look = look_of(series, theme_);
    std::string full;
    std::string hollow;
    std::string intervals;
    for (const Point& point : series.points) {
      const double x = places_.middle_of(series, point.x);
      (point.trusted ? full : hollow) +=
          fmt::format("{} {} {} {} {} {}\n", x, point.y, x - places_.half_width(),
                      x + places_.half_width(), std::min(0.0, point.y), std::max(0.0, point.y));
      if (const auto& interval = point.interval)
        intervals += fmt::format("{} {} {} {}\n", x, point.y, interval->low, interval->high);
    }
    const std::string colour = fmt::format("lc rgb '{}'", look.colour);
    element(full, fmt::format("using 1:2:3:4:5:6 with boxxyerror fs {} {}", look.fill, colour));
    element(hollow, fmt::format("using 1:2:3:4:5:6 with boxxyerror fs {} lw 1.8 {}",
                                look.empty_fill, colour));
    element(intervals, interval_line(colours_of(theme_).text));
    if (!hollow.empty()) all_trusted_ = false;
    legend(series.name,
           fmt::format("with boxes fs {} {}", full.empty() ? look.empty_fill : look.fill, colour));
  }

  void add_points(const Series& series) {
    const SeriesLook look = look_of(series, theme_);
    std::string line;
    std::string intervals;
    std::string filled;
    std::string hollow;
    const bool has_intervals = std::ranges::any_of(
        series.points, [](const Point& point) { return point.interval.has_value(); });
    const double aside = has_intervals ? aside_.next() : 0;
    for (const Point& point : series.points) {
      if (!can_be_drawn(point.y)) continue;
      const double x = aside == 0 ? point.x : aside_.moved(point.x, aside);
      const std::string place = fmt::format("{} {}\n", x, point.y);
      line += place;
      (point.trusted ? filled : hollow) += place;
      if (!point.interval) continue;
      if (const auto [low, high] = shown(*point.interval); can_be_drawn(low))
        intervals += fmt::format("{} {} {} {}\n", x, point.y, low, high);
    }
    if (!hollow.empty()) all_trusted_ = false;
    const bool has_line = series.style == SeriesStyle::line;
    const double size = most_points_ > kManyPoints ? 0.4 : 0.9;
    const std::string colour = fmt::format("lc rgb '{}'", look.colour);
    const std::string stroke = fmt::format("lw 1.8 dt {} {}", look.dashes, colour);
    if (has_line) element(line, "using 1:2 with lines " + stroke);
    element(intervals, interval_line(look.colour));
    element(filled,
            fmt::format("using 1:2 with points pt {} ps {} {}", look.filled_point, size, colour));
    element(hollow, fmt::format("using 1:2 with points pt {} ps {} lw 1.4 {}", look.hollow_point,
                                size, colour));
    const int shape = filled.empty() ? look.hollow_point : look.filled_point;
    legend(series.name, has_line ? fmt::format("with linespoints pt {} {}", shape, stroke)
                                 : fmt::format("with points pt {} {}", shape, colour));
  }

  /// Each part of a bar from where the parts before it end.
  void add_stacks() {
    std::map<double, double> above;
    std::map<double, double> below;
    for (const Series& series : chart_.series) {
      const SeriesLook look = look_of(series, theme_);
      std::string rows;
      for (const Point& point : series.points) {
        if (!point.trusted) all_trusted_ = false;
        double& base = (point.y < 0 ? below : above)[point.x];
        const double end = base + point.y;
        rows += fmt::format("{} {} {} {} {} {}\n", point.x, end, point.x - kHalfBar,
                            point.x + kHalfBar, std::min(base, end), std::max(base, end));
        base = end;
      }
      const std::string how = fmt::format("fs {} lc rgb '{}'", look.fill, look.colour);
      element(rows, "using 1:2:3:4:5:6 with boxxyerror " + how);
      legend(series.name, "with boxes " + how);
    }
    std::ranges::reverse(legend_);  // as the parts lie above each other
    if (!all_trusted_)
      legend("○ not reliable",
             fmt::format("with points pt 7 lc rgb '{}'", colours_of(theme_).ground));
  }

  const Chart& chart_;
  ChartTheme theme_;
  StepsAside aside_;
  BarPlaces places_;
  bool is_log_ = false;
  bool all_trusted_ = true;
  std::size_t most_points_ = 0;  ///< of a series
  int block_count_ = 0;
  std::string blocks_;
  std::vector<std::string> legend_;
  std::vector<std::string> elements_;
};

}  // namespace

std::string gnuplot_plot(const Chart& chart, ChartTheme theme) { return Plot(chart, theme).text(); }

}  // namespace ptbench
