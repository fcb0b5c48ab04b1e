#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "charts/charts.h"
#include "charts/scaling_groups.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

constexpr double kLeastHigh = 110;  // room above the ideal line

Point efficiency_of(const ChartedRun& charted, const MeasuredRuns& measured) {
  const ScalingRecord& scaling = *charted.run->scaling;
  Point point{.x = static_cast<double>(charted.run->strategy.world_size),
              .y = kPercent * *scaling.efficiency,
              .interval = {},
              .note = scaling_note(charted, measured),
              .trusted = is_trusted(charted, measured)};
  if (const auto& interval = scaling.efficiency_ci95)
    point.interval = Interval{.low = kPercent * interval->low, .high = kPercent * interval->high};
  return point;
}

void add_all_cores(Chart& chart, const ScalingGroup& group, const MeasuredRuns& measured) {
  for (const AllCores& all : all_cores_of(group, measured))
    if (all.ranks)
      chart.series.push_back({.name = all.name,
                              .style = SeriesStyle::reference,
                              .points = {{.x = *all.ranks,
                                          .y = kPercent * all.speedup / *all.ranks,
                                          .interval = {},
                                          .note = all.note,
                                          .trusted = all.trusted}}});
}

double highest_of(const Chart& chart) {
  double highest = kLeastHigh;
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      highest = std::max(highest, 1.05 * (point.interval ? point.interval->high : point.y));
  return highest;
}

Chart efficiency_chart(const ScalingGroup& group, const MeasuredRuns& measured) {
  Chart chart{.name = {},
              .title = "Efficiency of " + group.title,
              .caption = scaling_caption("Speedup against serial training, over ranks", group),
              .x = axis_of_ranks(group),
              .y = {.title = "efficiency [%]"}};
  for (const RunSeries& runs : series_of(group.runs, Along::ranks)) {
    Series series{.name = runs.name, .thing = runs.thing};
    for (const ChartedRun& run : runs.runs) series.points.push_back(efficiency_of(run, measured));
    std::ranges::sort(series.points, {}, &Point::x);
    chart.series.push_back(std::move(series));
  }
  add_all_cores(chart, group, measured);
  chart.y.low = 0;
  chart.y.high = highest_of(chart);
  const auto [least, most] = span_of_ranks(group);
  chart.series.push_back({.name = "ideal",
                          .style = SeriesStyle::ideal,
                          .points = {{.x = least, .y = kPercent}, {.x = most, .y = kPercent}}});
  draw_few_places_as_bars(chart);
  return chart;
}

}  // namespace

std::vector<Chart> efficiency_charts(const ChartSource& source) {
  const std::vector<ChartedRun> runs = measured_runs(source);
  const MeasuredRuns measured(runs);
  std::vector<Chart> charts;
  for (const ScalingGroup& group : scaling_groups(runs))
    std::ranges::move(in_parts(efficiency_chart(group, measured)), std::back_inserter(charts));
  return charts;
}

}  // namespace ptbench
