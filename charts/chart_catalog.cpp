#include "charts/chart_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "charts/charts.h"
#include "charts/interval_room.h"
#include "charts/looks.h"
#include "src/base/error.h"
#include "src/base/suggest.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

constexpr std::array kCatalog{
    ChartRow{.name = "speedup",
             .summary = "speedup against ranks, with intervals, the ideal and both baselines",
             .needs = "runs that ptbench sweep has measured with --scaling",
             .make = speedup_charts},
    ChartRow{.name = "efficiency",
             .summary = "efficiency against ranks, with intervals, the ideal and both baselines",
             .needs = "runs that ptbench sweep has measured with --scaling",
             .make = efficiency_charts},
    ChartRow{.name = "loss",
             .summary = "where the efficiency went: communication, waiting, slower computing, …",
             .needs = "runs of ptbench sweep --scaling on several ranks, with phases",
             .make = scaling_loss_charts},
    ChartRow{
        .name = "pairs",
        .summary =
            "NEW against BASE in each pair of a gate and in all pairs together, with the interval",
        .needs = "a gate: ptbench gate -o FILE.html draws it",
        .make = pair_charts},
    ChartRow{.name = "phases",
             .summary = "what a step is made of, for each strategy and number of ranks",
             .needs = "runs with phases, which ptbench times in runs of its own",
             .make = phase_charts},
    ChartRow{.name = "throughput",
             .summary = "throughput against batch",
             .needs = "runs with two batches or more, for instance ptbench sweep -b 32,64,128",
             .make = throughput_charts},
    ChartRow{.name = "steps",
             .summary = "step times as the run went on, with slices, placement and clean marks",
             .needs = "runs with their samples",
             .make = step_time_charts},
    ChartRow{.name = "history",
             .summary = "the same runs in records of different times",
             .needs = "two records or more of the same run, or a history of ptbench compare",
             .make = history_charts},
    ChartRow{.name = "comm",
             .summary = "bandwidth of collectives against size, with the latency floor",
             .needs = "the output of ptbench comm --json",
             .make = collective_charts}};

void require_known(const std::string& name) {
  const std::vector<std::string> known = chart_names();
  if (std::ranges::find(known, name) != known.end()) return;
  const std::string suggestion = did_you_mean(name, known);
  throw usage_error(
      fmt::format("there is no chart '{}'", single_line(name)),
      suggestion.empty() ? fmt::format("choose from {}", fmt::join(known, ", ")) : suggestion);
}

/// Figures of foreign records may overflow when they are combined: a value that is not a number
/// cannot be drawn.
void keep_numbers(Chart& chart) {
  const auto is_number = [](double value) { return std::isfinite(value); };
  for (Series& series : chart.series) {
    std::erase_if(series.points,
                  [&](const Point& point) { return !is_number(point.x) || !is_number(point.y); });
    for (Point& point : series.points)
      if (point.interval && !(is_number(point.interval->low) && is_number(point.interval->high)))
        point.interval.reset();
  }
  std::erase_if(chart.series, [](const Series& series) { return series.points.empty(); });
  for (Axis* const axis : {&chart.x, &chart.y})
    for (std::optional<double>* const end : {&axis->low, &axis->high})
      if (*end && !is_number(**end)) end->reset();
}

/// Whether one of the rows called `names` made the chart; all rows are meant where there are none.
bool is_one_of(const Chart& chart, std::span<const std::string> names) {
  return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
           return chart.name == name || chart.name.starts_with(name + '-');
         });
}

/// Whether there is more than what values are held against.
bool shows_values(const Chart& chart) {
  return std::ranges::any_of(chart.series, [](const Series& series) {
    return series.style != SeriesStyle::ideal && series.style != SeriesStyle::reference;
  });
}

}  // namespace

std::span<const ChartRow> chart_catalog() { return kCatalog; }

std::vector<std::string> chart_names() {
  std::vector<std::string> names;
  names.reserve(kCatalog.size());
  for (const ChartRow& row : kCatalog) names.emplace_back(row.name);
  return names;
}

std::vector<Chart> make_charts(const ChartSource& source, std::span<const std::string> names) {
  for (const std::string& name : names) require_known(name);
  std::vector<Chart> charts;
  for (const ChartRow& row : kCatalog) {
    int number = 0;
    for (Chart& chart : row.make(source)) {
      keep_numbers(chart);
      if (!shows_values(chart)) continue;
      make_room_for_intervals(chart);
      ++number;
      chart.name = number == 1 ? std::string(row.name) : fmt::format("{}-{}", row.name, number);
      charts.push_back(std::move(chart));
    }
  }
  // Before any is left out: what a thing looks like does not depend on which charts are wanted.
  give_looks(charts);
  std::erase_if(charts, [&](const Chart& chart) { return !is_one_of(chart, names); });
  return charts;
}

}  // namespace ptbench
