#include "src/judge/scaling_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "charts/charts.h"
#include "charts/scaling_groups.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

struct Part {
  std::string_view name;
  std::optional<double> ScalingLossRecord::* share;
};
constexpr std::array<Part, 6> kLosses{{{"slower computing", &ScalingLossRecord::compute_slowdown},
                                       {"smaller micro-batches", &ScalingLossRecord::batch_effect},
                                       {"communication", &ScalingLossRecord::communication},
                                       {"waiting for slower ranks", &ScalingLossRecord::wait},
                                       {"data", &ScalingLossRecord::data},
                                       {"overhead", &ScalingLossRecord::overhead}}};

/// Runs with a loss: those of a strategy side by side, by ranks.
std::vector<ChartedRun> runs_with_loss(const ScalingGroup& group) {
  std::vector<ChartedRun> runs;
  for (RunSeries& series : series_of(group.runs, Along::ranks)) {
    std::erase_if(series.runs,
                  [](const ChartedRun& run) { return !largest_term(run.run->scaling->loss); });
    std::ranges::move(by_ranks(std::move(series.runs)), std::back_inserter(runs));
  }
  return runs;
}

std::vector<std::string> bar_names(std::span<const ChartedRun> runs) {
  std::vector<Traits> traits;
  traits.reserve(runs.size());
  for (const ChartedRun& run : runs) {
    traits.push_back(traits_of(run, Along::ranks));
    traits.back().insert(traits.back().begin() + 1,
                         {"ranks", fmt::format("n={}", run.run->strategy.world_size)});
  }
  return names_of(traits);
}

Series part_series(std::string_view name, std::span<const ChartedRun> runs,
                   const MeasuredRuns& measured,
                   const std::function<std::optional<double>(const ScalingRecord&)>& share_of) {
  Series series{.name = std::string(name), .style = SeriesStyle::stacked};
  for (std::size_t place = 0; place < runs.size(); ++place)
    if (const std::optional<double> share = share_of(*runs[place].run->scaling))
      series.points.push_back({.x = static_cast<double>(place),
                               .y = kPercent * *share,
                               .note = note_of(runs[place]),
                               .trusted = is_trusted(runs[place], measured)});
  return series;
}

Chart loss_chart(const std::string& title, std::span<const ChartedRun> runs,
                 const MeasuredRuns& measured) {
  Chart chart{
      .name = {},
      .title = "Where the efficiency went: " + title,
      .caption = fmt::format("Parts add up to 100 %. A part below 0 is time that ranks saved. {}.",
                             basis_of(runs)),
      .x = {.categories = bar_names(runs)},
      .y = {.title = "share of the step [%]"},
      .series = {}};
  chart.series.push_back(part_series(
      "reached", runs, measured, [](const ScalingRecord& scaling) { return scaling.efficiency; }));
  for (const Part& part : kLosses) {
    Series series = part_series(part.name, runs, measured, [&](const ScalingRecord& scaling) {
      return scaling.loss.*part.share;
    });
    const auto is_nothing = [](const Point& point) { return point.y == 0; };
    if (!std::ranges::all_of(series.points, is_nothing)) chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

std::vector<Chart> scaling_loss_charts(const ChartSource& source) {
  const std::vector<ChartedRun> measured_ones = measured_runs(source);
  const MeasuredRuns measured(measured_ones);
  std::vector<Chart> charts;
  for (const ScalingGroup& group : scaling_groups(measured_ones)) {
    const std::vector<ChartedRun> runs = runs_with_loss(group);
    if (runs.empty()) continue;
    std::ranges::move(in_parts_of_bars(loss_chart(group.title, runs, measured)),
                      std::back_inserter(charts));
  }
  return charts;
}

}  // namespace ptbench
