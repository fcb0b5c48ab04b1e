#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "charts/charted_runs.h"
#include "charts/charts.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

constexpr double kGiga = 1e9;
constexpr double kHeadroom = 2;  // of the axis above the fastest

/// Values of one size are of several measurements: the k-th belongs to the k-th of them.
using Measurements = std::vector<std::map<Bytes, const CollectiveRecord*>>;

void add(Measurements& measurements, const CollectiveRecord& record) {
  for (auto& measurement : measurements)
    if (measurement.emplace(record.bytes, &record).second) return;
  measurements.push_back({{record.bytes, &record}});
}

double bandwidth(const CollectiveRecord& record) {
  return static_cast<double>(record.bytes) / record.seconds / kGiga;
}

Series series_of_measurement(const std::map<Bytes, const CollectiveRecord*>& measurement,
                             std::string name) {
  Series series{.name = std::move(name)};
  for (const auto& [bytes, record] : measurement)
    series.points.push_back({.x = static_cast<double>(bytes),
                             .y = bandwidth(*record),
                             .note = record->wrong > 0
                                         ? fmt::format("{} values are wrong", record->wrong)
                                         : format_duration(record->seconds),
                             .trusted = record->wrong == 0});
  return series;
}

/// What the shortest time would allow at each size, as far as the axis reaches.
void add_floor(Chart& chart, std::span<const CollectiveRecord* const> records) {
  const auto time = [](const CollectiveRecord* record) { return record->seconds; };
  const auto size = [](const CollectiveRecord* record) {
    return static_cast<double>(record->bytes);
  };
  const double seconds = time(*std::ranges::min_element(records, {}, time));
  const double least = size(*std::ranges::min_element(records, {}, size));
  const double most = size(*std::ranges::max_element(records, {}, size));
  double fastest = 0;
  for (const CollectiveRecord* const record : records)
    fastest = std::max(fastest, bandwidth(*record));
  chart.y.high = kHeadroom * fastest;
  const double end = std::min(most, *chart.y.high * kGiga * seconds);
  if (end <= least) return;
  chart.series.push_back({.name = fmt::format("latency floor: {}", format_duration(seconds)),
                          .style = SeriesStyle::ideal,
                          .points = {{.x = least, .y = least / seconds / kGiga},
                                     {.x = end, .y = end / seconds / kGiga}}});
}

Chart collective_chart(const std::string& collective,
                       std::span<const CollectiveRecord* const> records) {
  Chart chart{.title = fmt::format("Bandwidth of {}", collective),
              .caption =
                  "Size over the median time of the slowest rank; no call was shorter than "
                  "the latency floor.",
              .x = {.title = "size", .scale = AxisScale::log2, .numbers = AxisNumbers::bytes},
              .y = {.title = "algorithm bandwidth [GB/s]", .scale = AxisScale::log10}};
  std::map<std::pair<std::string, Size>, Measurements> lines;
  for (const CollectiveRecord* const record : records)
    add(lines[{record->communicator, record->ranks}], *record);
  for (const auto& [key, measurements] : lines)
    for (std::size_t number = 0; number < measurements.size(); ++number)
      chart.series.push_back(series_of_measurement(
          measurements[number],
          fmt::format("{}, {} rank{}{}", key.first, key.second, key.second == 1 ? "" : "s",
                      number == 0 ? "" : fmt::format(" ({})", number + 1))));
  add_floor(chart, records);
  return chart;
}

}  // namespace

std::vector<Chart> collective_charts(const ChartSource& source) {
  std::vector<std::pair<std::string, std::vector<const CollectiveRecord*>>> collectives;
  for (const CollectiveRecord& record : source.collectives) {
    if (!(record.seconds > 0) || record.bytes == 0) continue;
    auto found = std::ranges::find(collectives, record.collective,
                                   [](const auto& entry) { return entry.first; });
    if (found == collectives.end()) found = collectives.insert(found, {record.collective, {}});
    found->second.push_back(&record);
  }
  std::vector<Chart> charts;
  for (const auto& [collective, records] : collectives)
    std::ranges::move(in_parts(collective_chart(collective, records)), std::back_inserter(charts));
  return charts;
}

}  // namespace ptbench
