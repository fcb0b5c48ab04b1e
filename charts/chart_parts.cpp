#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "charts/charted_runs.h"
#include "src/base/size.h"

namespace ptbench {
namespace {

bool is_of_all_parts(const Series& series) {
  return series.style == SeriesStyle::ideal || series.style == SeriesStyle::reference;
}

/// Part `number` of `count`, without series and categories.
Chart frame_of(const Chart& chart, std::size_t number, std::size_t count) {
  Chart part{.name = chart.name,
             .title = chart.title,
             .caption = chart.caption,
             .x = {.title = chart.x.title,
                   .scale = chart.x.scale,
                   .low = chart.x.low,
                   .high = chart.x.high,
                   .numbers = chart.x.numbers},
             .y = chart.y,
             .marks = chart.marks};
  if (count > 1) part.title += fmt::format(" ({} of {})", number + 1, count);
  return part;
}

std::size_t parts_for(std::size_t things, std::size_t most) { return (things + most - 1) / most; }

Range range_of(std::size_t things, std::size_t number, std::size_t count) {
  return part_of(static_cast<Size>(things), static_cast<Size>(number), static_cast<Size>(count));
}

/// The points whose places are in `range`, with places from 0.
Series cut_out(const Series& series, Range range) {
  Series part{.name = series.name,
              .style = series.style,
              .thing = series.thing,
              .look = series.look,
              .variant = series.variant,
              .shape = series.shape};
  for (const Point& point : series.points) {
    const auto place = static_cast<Size>(point.x);
    if (place < range.begin || place >= range.end) continue;
    part.points.push_back(point);
    part.points.back().x -= static_cast<double>(range.begin);
  }
  return part;
}

}  // namespace

std::vector<Chart> in_parts(Chart chart, std::size_t most) {
  std::vector<Series> own;
  std::vector<Series> common;
  for (Series& series : chart.series)
    (is_of_all_parts(series) ? common : own).push_back(std::move(series));
  const std::size_t count = std::max<std::size_t>(1, parts_for(own.size(), most));
  std::vector<Chart> parts;
  for (std::size_t number = 0; number < count; ++number) {
    const Range range = range_of(own.size(), number, count);
    Chart part = frame_of(chart, number, count);
    part.x.categories = chart.x.categories;
    std::move(own.begin() + range.begin, own.begin() + range.end, std::back_inserter(part.series));
    part.series.insert(part.series.end(), common.begin(), common.end());
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<Chart> in_parts_of_bars(Chart chart, std::size_t most) {
  const std::size_t bars = chart.x.categories.size();
  const std::size_t count = parts_for(bars, most);
  if (count < 2) return {std::move(chart)};
  std::vector<Chart> parts;
  for (std::size_t number = 0; number < count; ++number) {
    const Range range = range_of(bars, number, count);
    Chart part = frame_of(chart, number, count);
    part.x.categories.assign(chart.x.categories.begin() + range.begin,
                             chart.x.categories.begin() + range.end);
    for (const Series& series : chart.series)
      if (Series cut = cut_out(series, range); !cut.points.empty())
        part.series.push_back(std::move(cut));
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace ptbench
