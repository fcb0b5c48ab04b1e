// Scripts are text: what gnuplot makes of them is looked at in tests/publish.
#include "charts/gnuplot.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "charts/chart_catalog.h"
#include "charts/gnuplot_text.h"
#include "tests/support/made_results.h"

namespace ptbench {
namespace {

using Catch::Contains;

std::string script_of(const std::vector<Chart>& charts, const Drawing& drawing = {}) {
  const std::size_t files = drawing.format == DrawingFormat::pdf ? 1 : charts.size();
  std::vector<std::string> names;
  for (std::size_t at = 0; at < files; ++at) names.push_back("/tmp/f" + std::to_string(at));
  return gnuplot_script(charts, names, drawing);
}

/// `script` without what stands in single quotes.
std::string outside_of_quotes(const std::string& script) {
  std::string text;
  bool inside = false;
  for (const char letter : script) {
    if (letter == '\'')
      inside = !inside;
    else if (!inside)
      text += letter;
  }
  CHECK_FALSE(inside);
  return text;
}

Chart chart_called(const std::string& name) {
  return {.name = name,
          .title = name,
          .caption = name,
          .x = {.title = name, .categories = {name, name}},
          .y = {.title = name},
          .series = {{.name = name, .points = {{.x = 0, .y = 1}, {.x = 1, .y = 2}}}},
          .marks = {{.x = 0.5, .text = name}}};
}

}  // namespace

TEST_CASE("equal charts make equal scripts") {
  const std::vector<ResultFile> files{testing::made_sweep({"dp", "ddp"}, 8)};
  const std::vector<ResultFile> same{testing::made_sweep({"dp", "ddp"}, 8)};
  CHECK(script_of(make_charts({.results = files})) == script_of(make_charts({.results = same})));
}

TEST_CASE("texts cannot leave their quotes") {
  const std::string hostile =
      "a'; system('touch /tmp/x'); `touch /tmp/y` \"\n$d1 << EOD\\ %s \x1b[3";
  const std::string outside = outside_of_quotes(script_of({chart_called(hostile)}));
  for (const char* const word : {"touch", "`", "\\ ", "\x1b", "%s"})
    CHECK_THAT(outside, !Contains(word));
  CHECK(gnuplot_quoted("it's") == "'it''s'");
  CHECK(gnuplot_quoted("a\nb\xff") == "'a\\x0ab\xEF\xBF\xBD'");
  CHECK(gnuplot_label("50 %") == "'50 %%'");
}

TEST_CASE("long names keep their beginning and end") {
  CHECK(shortened("abcdefghij", 10) == "abcdefghij");
  CHECK(shortened("abcdefghijk", 10) == "abcde…hijk");
  CHECK(shortened("ääääääääääää", 10) == "äääää…ääää");
  CHECK(shortened("a\nb", 10) == "a\\x0ab");
  const std::string script = script_of({chart_called(std::string(5000, 'w'))});
  CHECK_THAT(script, !Contains(std::string(200, 'w')));
}

TEST_CASE("every chart has a terminal and a file of its own, pages of a PDF share theirs") {
  const std::vector<Chart> charts{chart_called("one"), chart_called("two")};
  const std::string svg = script_of(charts);
  CHECK_THAT(svg, Contains("'ptbench_one'") && Contains("'ptbench_two'"));
  CHECK_THAT(svg, Contains("set output '/tmp/f0'") && Contains("set output '/tmp/f1'"));
  const std::string pdf = script_of(charts, {.format = DrawingFormat::pdf});
  CHECK(pdf.find("set terminal") == pdf.rfind("set terminal"));
  CHECK_THAT(pdf, Contains("pdfcairo"));
}

TEST_CASE("the theme chooses the colours") {
  const std::vector<Chart> charts{chart_called("one")};
  CHECK_THAT(script_of(charts), Contains("background '#ffffff'"));
  CHECK_THAT(script_of(charts, {.theme = ChartTheme::dark}), !Contains("#ffffff'"));
}

TEST_CASE("points without a clean repetition are hollow, and the legend says so") {
  Chart chart = chart_called("one");
  CHECK_THAT(script_of({chart}), !Contains("not reliable"));
  chart.series[0].points[0].trusted = false;
  CHECK_THAT(script_of({chart}), Contains("pt 6") && Contains("pt 7") && Contains("not reliable"));
}

TEST_CASE("parts of bars lie on each other, those below 0 under it") {
  Chart chart = chart_called("one");
  chart.series = {{.name = "a", .style = SeriesStyle::stacked, .points = {{.x = 0, .y = 2}}},
                  {.name = "b", .style = SeriesStyle::stacked, .points = {{.x = 0, .y = -1}}},
                  {.name = "c", .style = SeriesStyle::stacked, .points = {{.x = 0, .y = 3}}}};
  const std::string script = script_of({chart});
  CHECK_THAT(script, Contains("\n0 2 -0.35 0.35 0 2\n") && Contains("\n0 -1 -0.35 0.35 -1 0\n") &&
                         Contains("\n0 5 -0.35 0.35 2 5\n"));
}

TEST_CASE("bars of several series stand beside each other at their places, however far apart") {
  Chart chart = chart_called("one");
  chart.x = {.title = "ranks", .numbers = AxisNumbers::whole};
  const Interval interval{.low = 1.5, .high = 2.5};
  chart.series = {
      {.name = "a", .style = SeriesStyle::bars, .points = {{.x = 1, .y = 1}}},
      {.name = "b",
       .style = SeriesStyle::bars,
       .points = {{.x = 1, .y = 1}, {.x = 64, .y = 2, .interval = interval, .trusted = false}},
       .look = 1},
      {.name = "ideal", .style = SeriesStyle::ideal, .points = {{1, 1}, {64, 64}}}};
  const std::string script = script_of({chart});
  CHECK_THAT(script, Contains("set xtics  ('1' 0, '64' 1)") && Contains("set xrange [-0.5:1.5]"));
  CHECK_THAT(script, Contains("\n-0.075 1 -0.138 -0.01"));
  CHECK_THAT(script, Contains("\n0.075 1 0.01"));
  CHECK_THAT(script, Contains("\n1 2 0.937 1.063 0 2\n") && Contains("\n1 2 1.5 2.5\n"));
  CHECK_THAT(script, Contains("fs empty border") && Contains("not reliable"));
  CHECK_THAT(script, Contains("\n-0.45 1\n0.45 1\n\n0.55 64\n1.45 64\n"));
}

TEST_CASE("bars of parts that are not reliable have a ring before their name, as in tables") {
  Chart chart = chart_called("one");
  chart.series[0].style = SeriesStyle::stacked;
  CHECK_THAT(script_of({chart}), !Contains("○"));
  chart.series[0].points[0].trusted = false;
  CHECK_THAT(script_of({chart}), Contains("'○ one' 0") && Contains("'one' 1"));
}

TEST_CASE("a look is one colour and one mark") {
  Chart chart = chart_called("one");
  chart.series[0].look = 2;
  CHECK_THAT(script_of({chart}), Contains("pt 9 ") && Contains("#007a5a"));
  chart.series[0].shape = PointShape::cross;
  CHECK_THAT(script_of({chart}), Contains("pt 2 ") && Contains("#007a5a") && !Contains("pt 9 "));
}

TEST_CASE("an interval that reaches 0 is drawn from the end of a logarithmic axis") {
  Chart chart = chart_called("one");
  chart.x.categories.clear();
  chart.y = {.title = "y", .scale = AxisScale::log2, .low = 0.25};
  chart.series[0].points[0].interval = Interval{.low = -3, .high = 4};
  CHECK_THAT(script_of({chart}), Contains("\n0 1 0.25 4\n"));
}

TEST_CASE("intervals of several series at one whole number lie beside each other") {
  Chart chart = chart_called("one");
  chart.x = {.title = "ranks", .numbers = AxisNumbers::whole};
  const Interval interval{.low = 0.5, .high = 1.5};
  const auto series = [&](const std::string& name) {
    return Series{.name = name,
                  .points = {{.x = 1, .y = 1, .interval = interval}, {.x = 3, .y = 1}}};
  };
  chart.series = {series("a"), series("b")};
  CHECK_THAT(script_of({chart}),
             Contains("\n0.988 1 0.5 1.5\n") && Contains("\n1.012 1 0.5 1.5\n"));
  chart.series.pop_back();
  CHECK_THAT(script_of({chart}), Contains("\n1 1 0.5 1.5\n"));
  chart.series.push_back(series("b"));
  chart.x.numbers = AxisNumbers::real;
  CHECK_THAT(script_of({chart}), !Contains("0.988"));
}

TEST_CASE("an SVG carries the title and caption of its chart") {
  Chart chart = chart_called("one");
  chart.title = "a <b> & c";
  chart.caption = "read it so";
  CHECK(titled_svg("<svg><title>x_one</title><desc>made by y </desc><g/></svg>", chart) ==
        "<svg><title>a &lt;b&gt; &amp; c</title><desc>read it so</desc><g/></svg>");
  CHECK(titled_svg("<svg><title>", chart) == "<svg><title>");
}

TEST_CASE("logarithmic axes have no values of 0") {
  Chart chart = chart_called("one");
  chart.x.categories.clear();
  chart.y = {.title = "y", .scale = AxisScale::log10, .low = 0};
  chart.series[0].points[0].y = 0;
  const std::string script = script_of({chart});
  CHECK_THAT(script,
             Contains("set logscale y 10") && Contains("set yrange [*:*]") && !Contains("\n0 0\n"));
}

TEST_CASE("an axis of bytes has powers of two in words") {
  const std::vector<CollectiveRecord> records = testing::made_collectives("shm", 2);
  const std::string script = script_of(make_charts({.collectives = records}));
  CHECK_THAT(script, Contains("'4 KiB' 4096") && Contains("'1 MiB' 1048576"));
}

}  // namespace ptbench
