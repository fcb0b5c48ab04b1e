#include "page/reduced_chart.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

namespace ptbench {
namespace {

using Catch::Contains;

Chart chart_of(std::size_t series, std::size_t points, SeriesStyle style = SeriesStyle::line) {
  Chart chart{.title = "a chart", .caption = "Read it."};
  for (std::size_t at = 0; at < series; ++at) {
    Series one{.name = "series " + std::to_string(at), .style = style};
    for (std::size_t place = 0; place < points; ++place)
      one.points.push_back(
          {.x = static_cast<double>(place), .y = std::sin(static_cast<double>(place))});
    chart.series.push_back(one);
  }
  return chart;
}

}  // namespace

TEST_CASE("a chart that a page can carry stays as it is", "[page]") {
  const Chart chart = reduced_charts({chart_of(3, 50)}).front();
  CHECK(chart.caption == "Read it.");
  CHECK(chart.series.size() == 3);
  CHECK(chart.series.front().points.size() == 50);
}

TEST_CASE("of long series the extremes stay, in order, and the caption says so", "[page]") {
  Chart whole = chart_of(1, 100'000);
  whole.series.front().points[77'777].y = 50;
  const Chart chart = reduced_charts({whole}).front();
  const std::vector<Point>& points = chart.series.front().points;
  CHECK(points.size() <= 1000);
  CHECK(std::ranges::is_sorted(points, {}, &Point::x));
  CHECK(std::ranges::max_element(points, {}, &Point::y)->x == 77'777);
  CHECK_THAT(chart.caption, Contains("100000 values"));
}

TEST_CASE("of too many series and categories the first stay", "[page]") {
  Chart many = chart_of(100, 10);
  CHECK(reduced_charts({many}).front().series.size() == 24);
  Chart bars = chart_of(4, 5000, SeriesStyle::stacked);
  bars.x.categories.resize(5000, "run");
  const Chart chart = reduced_charts({bars}).front();
  CHECK(chart.x.categories.size() == 300);
  CHECK(chart.series.front().points.size() == 300);
  CHECK_THAT(chart.caption, Contains("The first 300 of 5000"));
}

TEST_CASE("of too many charts the first of each kind stay", "[page]") {
  std::vector<Chart> charts;
  for (const char* name : {"speedup", "speedup-2", "speedup-3", "loss", "loss-2"}) {
    charts.push_back(chart_of(1, 3));
    charts.back().name = name;
  }
  std::vector<std::string> names;
  for (const Chart& chart : reduced_charts(charts, 3)) names.push_back(chart.name);
  CHECK(names == std::vector<std::string>{"speedup", "speedup-2", "loss"});
}

TEST_CASE("all charts together stay small", "[page]") {
  std::vector<Chart> charts(60, chart_of(24, 3000));
  charts = reduced_charts(std::move(charts));
  CHECK(charts.size() == 24);
  std::size_t values = 0;
  for (const Chart& chart : charts)
    for (const Series& series : chart.series) values += series.points.size();
  CHECK(values < 60'000);
}

}  // namespace ptbench
