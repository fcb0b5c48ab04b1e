#include "page/reduced_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace ptbench {
namespace {

constexpr std::size_t kMostSeries = 24;
constexpr std::size_t kMostCategories = 300;
constexpr std::size_t kMostMarks = 40;
/// Of all charts together: some 40 bytes each.
constexpr std::size_t kMostValues = 6'000;
constexpr std::size_t kLeastValuesOfSeries = 60;
constexpr std::size_t kMostValuesOfSeries = 1'000;

void add_remark(const std::string& remark, Chart& chart) {
  chart.caption += (chart.caption.empty() ? "" : " ") + remark;
}

void cut_series(Chart& chart) {
  const std::size_t all = chart.series.size();
  if (all <= kMostSeries) return;
  chart.series.resize(kMostSeries);
  add_remark(fmt::format("The first {} of {} series are shown.", kMostSeries, all), chart);
}

void cut_categories(Chart& chart) {
  const std::size_t all = chart.x.categories.size();
  if (all <= kMostCategories) return;
  chart.x.categories.resize(kMostCategories);
  const auto beyond = [](const auto& placed) {
    return placed.x >= static_cast<double>(kMostCategories);
  };
  for (Series& series : chart.series) std::erase_if(series.points, beyond);
  std::erase_if(chart.marks, beyond);
  chart.x.high.reset();
  add_remark(fmt::format("The first {} of {} are shown.", kMostCategories, all), chart);
}

/// The smallest and the largest of each stretch of equally many values, in their order.
std::vector<Point> extremes(const std::vector<Point>& points, std::size_t most) {
  std::vector<Point> kept;
  const std::size_t stretches = most / 2;
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const auto begin =
        points.begin() + static_cast<std::ptrdiff_t>(stretch * points.size() / stretches);
    const auto end =
        points.begin() + static_cast<std::ptrdiff_t>((stretch + 1) * points.size() / stretches);
    const auto [low, high] = std::ranges::minmax_element(begin, end, {}, &Point::y);
    kept.push_back(*std::min(low, high));
    if (low != high) kept.push_back(*std::max(low, high));
  }
  return kept;
}

void cut_marks(Chart& chart) {
  const std::size_t all = chart.marks.size();
  if (all <= kMostMarks) return;
  chart.marks.resize(kMostMarks);
  add_remark(fmt::format("The first {} of {} upright lines are shown.", kMostMarks, all), chart);
}

/// "speedup" of "speedup-2".
std::string_view kind_of(const Chart& chart) {
  const std::string_view name = chart.name;
  const std::size_t end = name.find_last_not_of("0123456789");
  return end != std::string_view::npos && end + 1 < name.size() && name[end] == '-'
             ? name.substr(0, end)
             : name;
}

/// As many charts as may stay, of each kind the first ones.
std::vector<Chart> first_of_kinds(std::vector<Chart> charts, std::size_t most) {
  if (charts.size() <= most) return charts;
  std::map<std::string, std::size_t, std::less<>> counts;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // among its kind, among all
  for (std::size_t at = 0; at < charts.size(); ++at)
    places.emplace_back(counts[std::string(kind_of(charts[at]))]++, at);
  std::ranges::sort(places);
  places.resize(most);
  std::ranges::sort(places, {}, &std::pair<std::size_t, std::size_t>::second);
  std::vector<Chart> kept;
  for (const auto& [among_kind, at] : places) kept.push_back(std::move(charts[at]));
  return kept;
}

bool is_cut(const Series& series, std::size_t most) {
  return series.style != SeriesStyle::stacked && series.points.size() > most;
}

void thin_series(std::size_t most, Chart& chart) {
  std::size_t longest = 0;
  for (Series& series : chart.series) {
    if (!is_cut(series, most)) continue;
    longest = std::max(longest, series.points.size());
    series.points = extremes(series.points, most);
  }
  if (longest > 0)
    add_remark(fmt::format("Of series of up to {} values the smallest and largest of each of {} "
                           "stretches are shown.",
                           longest, most / 2),
               chart);
}

}  // namespace

std::vector<Chart> reduced_charts(std::vector<Chart> charts, std::size_t most_charts) {
  charts = first_of_kinds(std::move(charts), most_charts);
  std::size_t long_series = 0;
  for (Chart& chart : charts) {
    cut_series(chart);
    cut_categories(chart);
    cut_marks(chart);
    long_series += static_cast<std::size_t>(std::ranges::count_if(
        chart.series, [](const Series& series) { return is_cut(series, kLeastValuesOfSeries); }));
  }
  const std::size_t most = std::clamp(kMostValues / std::max<std::size_t>(long_series, 1),
                                      kLeastValuesOfSeries, kMostValuesOfSeries);
  for (Chart& chart : charts) thin_series(most, chart);
  return charts;
}

}  // namespace ptbench
