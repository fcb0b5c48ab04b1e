#include "charts/gnuplot_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <vector>

#include "charts/gnuplot_axes.h"
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
    if (chart.x.numbers != AxisNumbers::whole) return;
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const Series& series : chart.series) {
      if (series.style != SeriesStyle::line && series.style != SeriesStyle::points) continue;
      bool has_interval = false;
      for (const Point& point : series.points) {
        least = std::min(least, point.x);
        most = std::max(most, point.x);
        has_interval = has_interval || point.interval;
      }
      if (has_interval) ++count_;
    }
    if (count_ > 1 && least < most) span_ = is_log_ ? std::log(most / least) : most - least;
  }

  /// Where the next series with intervals lies beside its own places.
  [[nodiscard]] double next() {
    const double place = static_cast<double>(number_++) - static_cast<double>(count_ - 1) / 2;
    return place * kStepAside * span_;
  }

  [[nodiscard]] double moved(double x, double aside) const {
    return is_log_ ? x * std::exp(aside) : x + aside;
  }

 private:
  bool is_log_;
  double span_ = 0;
  std::size_t count_ = 0;
  std::size_t number_ = 0;
};

/// Data blocks and the elements of the plot command that draw them.
class Plot {
 public:
  Plot(const Chart& chart, ChartTheme theme) : chart_(chart), theme_(theme), aside_(chart) {
    is_log_ = chart.y.scale != AxisScale::linear;
    for (const Series& series : chart.series)
      most_points_ = std::max(most_points_, series.points.size());
  }

  [[nodiscard]] std::string text() {
    if (has_bars(chart_))
      add_bars();
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
    std::size_t number = 0;
    std::size_t thin_lines = 0;
    for (const Series& series : chart_.series) {
      if (series.points.empty()) continue;
      if (series.style == SeriesStyle::ideal || series.style == SeriesStyle::reference)
        add_thin_line(series, thin_lines++);
      else
        add_points(series, look_of(number++, theme_));
    }
    if (!all_trusted_)
      legend("hollow: not reliable",
             fmt::format("with points pt 6 lc rgb '{}'", colours_of(theme_).faint));
  }

  void add_thin_line(const Series& series, std::size_t number) {
    const bool is_ideal = series.style == SeriesStyle::ideal;
    const std::string how =
        fmt::format("with lines lw 1.2 dt {} lc rgb '{}'", is_ideal ? 2 : 1 + 2 * (number % 3),
                    colours_of(theme_).faint);
    std::string rows;
    for (const Point& point : series.points)
      if (can_be_drawn(point.y)) rows += fmt::format("{} {}\n", point.x, point.y);
    element(rows, "using 1:2 " + how);
    legend(series.name, how);
  }

  void add_points(const Series& series, const SeriesLook& look) {
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
      if (const auto& interval = point.interval; interval && can_be_drawn(interval->low))
        intervals += fmt::format("{} {} {} {}\n", x, point.y, interval->low, interval->high);
    }
    if (!hollow.empty()) all_trusted_ = false;
    const bool has_line = series.style == SeriesStyle::line;
    const double size = most_points_ > kManyPoints ? 0.4 : 0.9;
    const std::string colour = fmt::format("lc rgb '{}'", look.colour);
    const std::string stroke = fmt::format("lw 1.8 dt {} {}", look.dashes, colour);
    if (has_line) element(line, "using 1:2 with lines " + stroke);
    element(intervals, fmt::format("using 1:2:3:4 with yerrorbars pt -1 lw 1.2 {}", colour));
    element(filled,
            fmt::format("using 1:2 with points pt {} ps {} {}", look.filled_point, size, colour));
    element(hollow, fmt::format("using 1:2 with points pt {} ps {} lw 1.4 {}", look.hollow_point,
                                size, colour));
    const int shape = filled.empty() ? look.hollow_point : look.filled_point;
    legend(series.name, has_line ? fmt::format("with linespoints pt {} {}", shape, stroke)
                                 : fmt::format("with points pt {} {}", shape, colour));
  }

  /// Each part of a bar from where the parts before it end.
  void add_bars() {
    std::map<double, double> above;
    std::map<double, double> below;
    std::size_t number = 0;
    for (const Series& series : chart_.series) {
      const SeriesLook look = look_of(number++, theme_);
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
      legend("* not reliable",
             fmt::format("with points pt 7 lc rgb '{}'", colours_of(theme_).ground));
  }

  const Chart& chart_;
  ChartTheme theme_;
  StepsAside aside_;
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
