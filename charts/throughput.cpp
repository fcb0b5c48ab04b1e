#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "charts/charted_runs.h"
#include "charts/charts.h"

namespace ptbench {
namespace {

/// Batches are doubled, mostly: the ratio from which on they need equal room to be told apart.
constexpr double kDoubledTwice = 4;

bool has_several_batches(const RunSeries& series) {
  std::set<Size> batches;
  for (const ChartedRun& run : series.runs) batches.insert(*run.run->strategy.batch_per_replica);
  return batches.size() > 1;
}

/// The runs of series with two batches or more.
std::vector<ChartedRun> runs_in_lines(std::span<const ChartedRun> runs) {
  std::vector<ChartedRun> lines;
  for (const RunSeries& series : series_of(runs, Along::batch))
    if (has_several_batches(series))
      lines.insert(lines.end(), series.runs.begin(), series.runs.end());
  return lines;
}

Series throughput_series(const RunSeries& runs) {
  Series series{.name = runs.name, .thing = runs.thing};
  for (const ChartedRun& run : runs.runs)
    series.points.push_back({.x = static_cast<double>(*run.run->strategy.batch_per_replica),
                             .y = *run.run->throughput.value,
                             .interval = run.run->throughput.ci95,
                             .note = note_of(run),
                             .trusted = run.is_trusted()});
  std::ranges::sort(series.points, {}, &Point::x);
  return series;
}

void set_axes(Chart& chart) {
  double least = chart.series.front().points.front().x;
  double most = least;
  for (const Series& series : chart.series) {
    least = std::min(least, series.points.front().x);
    most = std::max(most, series.points.back().x);
  }
  chart.y.low = 0;
  if (most >= kDoubledTwice * least) chart.x.scale = AxisScale::log2;
}

/// `runs` is not empty.
Chart throughput_chart(std::span<const ChartedRun> runs) {
  Chart chart{
      .title = "Throughput of " + subject_of(*runs.front().run),
      .caption = fmt::format("Of all ranks together; bars are 95 % intervals. {}.", basis_of(runs)),
      .x = {.title = "samples in a replica's micro-batch", .numbers = AxisNumbers::whole},
      .y = {.title = "throughput [samples/s]"}};
  for (const RunSeries& series : series_of(runs, Along::batch))
    chart.series.push_back(throughput_series(series));
  set_axes(chart);
  draw_few_places_as_bars(chart);
  return chart;
}

}  // namespace

std::vector<Chart> throughput_charts(const ChartSource& source) {
  std::vector<ChartedRun> measured = measured_runs(source);
  std::erase_if(measured, [](const ChartedRun& run) {
    return run.run->strategy.batch_per_replica.value_or(0) <= 0;
  });
  std::vector<Chart> charts;
  for (const std::vector<ChartedRun>& runs :
       grouped(measured, [](const ChartedRun& run) { return subject_of(*run.run); })) {
    const std::vector<ChartedRun> lines = runs_in_lines(runs);
    if (lines.empty()) continue;
    std::ranges::move(in_parts(throughput_chart(lines)), std::back_inserter(charts));
  }
  return charts;
}

}  // namespace ptbench
