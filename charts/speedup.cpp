#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "charts/charts.h"
#include "charts/scaling_groups.h"
#include "src/judge/ranking.h"

namespace ptbench {
namespace {

Point speedup_of(const ChartedRun& charted, const MeasuredRuns& measured) {
  const ScalingRecord& scaling = *charted.run->scaling;
  const auto ranks = static_cast<double>(charted.run->strategy.world_size);
  return {.x = ranks,
          .y = *scaling.speedup,
          .interval = ptbench::speedup_of(*charted.run)->interval,
          .note = scaling_note(charted, measured),
          .trusted = is_trusted(charted, measured)};
}

Chart speedup_chart(const ScalingGroup& group, const MeasuredRuns& measured) {
  Chart chart{.name = {},
              .title = "Speedup of " + group.title,
              .caption = scaling_caption(
                  "Throughput relative to serial training on one rank's threads", group),
              .x = axis_of_ranks(group),
              .y = {.title = "speedup"}};
  chart.y.scale = chart.x.scale;
  if (chart.y.scale == AxisScale::linear) chart.y.low = 0;
  for (const RunSeries& runs : series_of(group.runs, Along::ranks)) {
    Series series{.name = runs.name, .thing = runs.thing};
    for (const ChartedRun& run : runs.runs) series.points.push_back(speedup_of(run, measured));
    std::ranges::sort(series.points, {}, &Point::x);
    chart.series.push_back(std::move(series));
  }
  const auto [least, most] = span_of_ranks(group);
  for (const AllCores& all : all_cores_of(group, measured)) {
    const Point from{.x = least, .y = all.speedup, .note = all.note, .trusted = all.trusted};
    Point to = from;
    to.x = most;
    chart.series.push_back(
        {.name = all.name, .style = SeriesStyle::reference, .points = {from, to}});
  }
  chart.series.push_back({.name = "ideal",
                          .style = SeriesStyle::ideal,
                          .points = {{.x = least, .y = least}, {.x = most, .y = most}}});
  draw_few_places_as_bars(chart);
  return chart;
}

}  // namespace

std::vector<Chart> speedup_charts(const ChartSource& source) {
  const std::vector<ChartedRun> runs = measured_runs(source);
  const MeasuredRuns measured(runs);
  std::vector<Chart> charts;
  for (const ScalingGroup& group : scaling_groups(runs))
    std::ranges::move(in_parts(speedup_chart(group, measured)), std::back_inserter(charts));
  return charts;
}

}  // namespace ptbench
