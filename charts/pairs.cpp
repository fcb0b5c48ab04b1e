#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "charts/charts.h"
#include "src/base/units.h"
#include "src/judge/lockstep_pairs.h"

namespace ptbench {
namespace {

/// The first place: that of all pairs together.
constexpr double kAll = 0;

double percent_of_log(double change) { return kPercent * std::expm1(change); }

/// The pairs of the run in the first file of either side that has it; empty where a side has none.
std::vector<LockstepPair> pairs_of(const std::string& id, const ChartSource& source) {
  const RunRecord* base = nullptr;
  const RunRecord* fresh = nullptr;
  for (std::size_t at = 0; at < source.sides.size(); ++at) {
    const RunRecord*& side = source.sides[at] == source.sides.front() ? base : fresh;
    for (const RunRecord& run : source.results[at].runs)
      if (side == nullptr && run.id == id) side = &run;
  }
  if (base == nullptr || fresh == nullptr) return {};
  return lockstep_pairs(base->samples, fresh->samples);
}

/// A change of each pair, and that of all pairs with the interval that was judged.
Series series_of(const std::string& name, std::span<const LockstepPair> pairs,
                 double LockstepPair::* change, const std::optional<double>& all,
                 const std::optional<Interval>& interval) {
  Series series{.name = name, .style = SeriesStyle::points};
  if (all) {
    series.points.push_back({.x = kAll, .y = kPercent * *all});
    if (interval)
      series.points.back().interval =
          Interval{.low = kPercent * interval->low, .high = kPercent * interval->high};
  }
  for (std::size_t at = 0; at < pairs.size(); ++at)
    series.points.push_back(
        {.x = static_cast<double>(at + 1), .y = percent_of_log(pairs[at].*change)});
  return series;
}

/// A line from the first place to the last.
Series level(const std::string& name, SeriesStyle style, double share, std::size_t places) {
  const double y = kPercent * share;
  return {.name = name,
          .style = style,
          .points = {{.x = kAll, .y = y}, {.x = static_cast<double>(places) - 1, .y = y}}};
}

Chart pair_chart(const RunComparison& run, std::span<const LockstepPair> pairs, double detect) {
  Chart chart{.title = fmt::format("{} in pairs of BASE and NEW", run.id),
              .caption = fmt::format(
                  "Each mark is a pair of processes that took turns: how much longer a step of NEW "
                  "takes than one of BASE. At the left, all pairs together, with the {:.5g} % "
                  "interval that decides. The gate looks for changes of {:.3g} % or more.",
                  kPercent * run.interval_level, kPercent * detect),
              .x = {.title = "pair", .categories = {"all"}},
              .y = {.title = "change of the step time [%]"}};
  for (std::size_t at = 0; at < pairs.size(); ++at)
    chart.x.categories.push_back(fmt::format("{}", at + 1));
  // The interval that decided stands at its statistic; the other one would contradict it.
  const auto shown = shown_change(run);
  const auto interval = shown ? shown->interval : std::nullopt;
  if (interval) chart.level = shown->level;
  const bool is_of_mean = shown && shown->statistic == Statistic::mean;
  chart.series.push_back(series_of("typical step", pairs, &LockstepPair::median, run.change,
                                   is_of_mean ? std::nullopt : interval));
  chart.series.push_back(series_of("mean step", pairs, &LockstepPair::mean, run.mean_change,
                                   is_of_mean ? interval : std::nullopt));
  const std::size_t places = chart.x.categories.size();
  chart.series.push_back(level("as fast as BASE", SeriesStyle::reference, 0, places));
  chart.series.push_back(
      level(fmt::format("{:.3g} % slower", kPercent * detect), SeriesStyle::ideal, detect, places));
  chart.series.push_back(level(fmt::format("{:.3g} % faster", kPercent * detect),
                               SeriesStyle::ideal, -detect, places));
  return chart;
}

}  // namespace

std::vector<Chart> pair_charts(const ChartSource& source) {
  std::vector<Chart> charts;
  if (source.comparison == nullptr) return charts;
  for (const RunComparison& run : source.comparison->runs)
    if (const std::vector<LockstepPair> pairs = pairs_of(run.id, source); !pairs.empty())
      charts.push_back(pair_chart(run, pairs, source.comparison->detect));
  return charts;
}

}  // namespace ptbench
