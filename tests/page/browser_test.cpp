// The page in a browser, as its readers have it.
#include "tests/page/browser.h"

#include <catch2/catch.hpp>

#include "app/publish/chart_library.h"
#include "app/publish/page_report.h"
#include "page/page.h"
#include "tests/page/page_records.h"
#include "tests/support/skip.h"

namespace ptbench {
namespace {

using testing::in_browser;
using Json = nlohmann::json;

/// A chart with everything that a chart can have.
Chart full_chart() {
  Chart chart{.name = "full", .title = "Everything", .caption = "A caption."};
  chart.x = {.title = "ranks", .scale = AxisScale::log2, .numbers = AxisNumbers::whole};
  chart.y = {.title = "speedup", .low = 0.0};
  chart.series = {
      {.name = "ddp",
       .points = {{.x = 1, .y = 1},
                  {.x = 2, .y = 1.8, .interval = Interval{1.7, 1.9}, .note = "batch 64"},
                  {.x = 4, .y = 2.5, .trusted = false}}},
      {.name = "ideal", .style = SeriesStyle::ideal, .points = {{1, 1}, {4, 4}}}};
  chart.marks = {{.x = 2, .text = "here"}};
  return chart;
}

Chart bar_chart() {
  Chart chart{.name = "bars", .title = "Parts", .caption = ""};
  chart.x.categories = {"ddp n2", "dp n2"};
  chart.y = {.title = "step [ms]"};
  for (const char* part : {"forward", "backward", "communication"})
    chart.series.push_back({.name = part,
                            .style = SeriesStyle::stacked,
                            .points = {{.x = 0, .y = 1.5}, {.x = 1, .y = -0.5}}});
  return chart;
}

/// Bars at two counts of ranks that are far apart.
Chart few_chart() {
  Chart chart{.name = "few", .title = "Few", .caption = ""};
  chart.x = {.title = "ranks", .numbers = AxisNumbers::whole};
  chart.y = {.title = "speedup", .low = 0.0};
  chart.series = {{.name = "serial", .style = SeriesStyle::bars, .points = {{.x = 1, .y = 1}}},
                  {.name = "ddp",
                   .style = SeriesStyle::bars,
                   .points = {{.x = 1, .y = 0.9},
                              {.x = 64, .y = 40, .interval = Interval{30, 70}, .trusted = false}},
                   .look = 1},
                  {.name = "ideal", .style = SeriesStyle::ideal, .points = {{1, 1}, {64, 64}}}};
  return chart;
}

Chart size_chart() {
  Chart chart{.name = "comm", .title = "Bandwidth", .caption = ""};
  chart.x = {.title = "bytes", .scale = AxisScale::log2, .numbers = AxisNumbers::bytes};
  chart.y = {.title = "GB/s", .scale = AxisScale::log10};
  chart.series = {{.name = "shm"}};
  for (double bytes = 1024; bytes < 1e8; bytes *= 4)
    chart.series.front().points.push_back({.x = bytes, .y = bytes / 1e6});
  return chart;
}

std::string library() {
  ChartLibrary found = read_chart_library();
  if (found.text.empty()) testing::skip(found.problem);
  return found.text;
}

std::string page_of(const ResultFile& file, std::vector<Chart> charts) {
  PageContent content{.files = {&file, 1}, .library = library()};
  for (Chart& chart : charts) content.charts.push_back({.chart = std::move(chart)});
  return page_html(content);
}

/// How many colours each canvas shows: an empty one shows one.
constexpr const char* kCanvasColours = R"js(
  const colours = [];
  for (const canvas of document.querySelectorAll('canvas[role=img]')) {
    const pixels = new Uint32Array(canvas.getContext('2d')
        .getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    colours.push(new Set(pixels).size);
  }
  return {colours, figures: document.querySelectorAll('figure').length,
          resources: performance.getEntriesByType('resource').length};
)js";

void check_is_drawn(const Json& told, std::size_t charts) {
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["figures"] == charts);
  REQUIRE(told["colours"].size() == charts);
  for (const Json& colours : told["colours"]) CHECK(colours.get<int>() > 10);
  CHECK(told["resources"] == 0);
}

}  // namespace

TEST_CASE("a browser draws every kind of chart without a complaint", "[page]") {
  testing::require_browser();
  const std::string page =
      page_of(testing::good_sweep(), {full_chart(), bar_chart(), size_chart(), few_chart()});
  check_is_drawn(in_browser(page, kCanvasColours), 4);
}

TEST_CASE("a browser draws what the records of a sweep allow", "[page]") {
  testing::require_browser();
  (void)library();
  const ResultFile file = testing::good_sweep();
  const Json told = in_browser(to_page(file), kCanvasColours);
  REQUIRE(told["figures"].get<std::size_t>() >= 3);
  check_is_drawn(told, told["figures"].get<std::size_t>());
}

TEST_CASE("hostile names do nothing in a browser", "[page]") {
  testing::require_browser();
  std::vector<Chart> charts{full_chart(), bar_chart()};
  const std::string text = testing::hostile_text();
  for (Chart& chart : charts) {
    chart.title = chart.caption = chart.x.title = chart.y.title = text;
    for (Series& series : chart.series) series.name = text;
    for (std::string& category : chart.x.categories) category = text;
    chart.series.front().points.front().note = text;
    chart.marks = {{.x = 1, .text = text}};
  }
  const Json told = in_browser(page_of(testing::hostile_file(), charts), R"js(
    for (const button of document.querySelectorAll('thead button')) button.click();
    await new Promise((resolve) => setTimeout(resolve, 50));
    return {harmed: window.harmed ?? 0, images: document.querySelectorAll('img[src="x"]').length,
            bold: document.querySelectorAll('b').length,
            title: document.querySelector('figure h3').textContent};
  )js");
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["harmed"] == 0);
  CHECK(told["images"] == 0);
  CHECK(told["bold"] == 0);
  CHECK_THAT(told["title"].get<std::string>(), Catch::StartsWith("</script><img src=x"));
}

TEST_CASE("the table of runs is sorted and filtered", "[page]") {
  testing::require_browser();
  ResultFile file = testing::good_sweep();
  file.runs.push_back(testing::troubled(testing::measured_run({.strategy = "ddp-flat", .ranks = 2}),
                                        Status::failed, "out of memory"));
  const Json told = in_browser(page_of(file, {}), R"js(
    const table = document.querySelector('#runs table');
    const heads = [...table.tHead.rows[0].cells];
    const at = heads.findIndex((head) => head.textContent.startsWith('throughput'));
    const names = () => [...table.tBodies[0].rows].filter((row) => !row.hidden)
        .map((row) => row.cells[0].textContent);
    const before = names();
    const button = heads[at].querySelector('button');
    button.click();
    const down = [names(), heads[at].getAttribute('aria-sort')];
    button.click();
    const up = [names(), heads[at].getAttribute('aria-sort')];
    heads[0].querySelector('button').click();
    const byName = [names(), heads[at].getAttribute('aria-sort')];
    const input = document.querySelector('#runs input');
    input.value = 'DDP failed';
    input.dispatchEvent(new Event('input'));
    return {before, down, up, byName, filtered: names(),
            count: document.querySelector('#runs output').textContent,
            focusable: button.tabIndex, label: input.labels.length};
  )js");
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["before"] == Json{"serial", "ddp", "dp", "ddp-flat"});
  CHECK(told["down"] == Json{{"ddp", "dp", "serial", "ddp-flat"}, "descending"});
  CHECK(told["up"] == Json{{"serial", "dp", "ddp", "ddp-flat"}, "ascending"});
  CHECK(told["byName"] == Json{{"ddp", "ddp-flat", "dp", "serial"}, "none"});
  CHECK(told["filtered"] == Json::array({"ddp-flat"}));
  CHECK(told["count"] == "1 of 4 rows");
  CHECK(told["focusable"] == 0);
  CHECK(told["label"] == 1);
}

TEST_CASE("arrow keys tell a chart's values", "[page]") {
  testing::require_browser();
  const Json told = in_browser(page_of(testing::good_sweep(), {full_chart()}), R"js(
    const canvas = document.querySelector('canvas');
    const said = [];
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'a']) {
      canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
      said.push(document.querySelector('figure output').textContent);
    }
    return {said, focusable: canvas.tabIndex};
  )js");
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["said"] == Json{"ranks: 1, ddp: 1", "ranks: 2, ddp: 1.8 (95 %: 1.7 to 1.9), batch 64",
                             "ranks: 4, ddp: 2.5, not reliable", "ranks: 1, ddp: 1",
                             "ranks: 4, ddp: 2.5, not reliable",
                             "ranks: 4, ddp: 2.5, not reliable"});
  CHECK(told["focusable"] == 0);
}

TEST_CASE("a narrow screen shows the page without scrolling it sideways", "[page]") {
  testing::require_browser();
  std::vector<Chart> charts{full_chart(), bar_chart()};
  const Json told = in_browser(page_of(testing::hostile_file(), charts), R"js(
    return {inner: innerWidth, scroll: document.documentElement.scrollWidth};
  )js",
                               500);
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["scroll"].get<int>() <= told["inner"].get<int>());
}

TEST_CASE("at 400 pixels charts shrink to the window and every bar has its name", "[page]") {
  testing::require_browser();
  Chart many = bar_chart();
  many.x.categories.clear();
  for (const char* strategy : {"serial", "ddp", "ddp-flat", "dp"})
    for (const char* ranks : {"n=1", "n=2", "n=4"})
      many.x.categories.push_back(std::string(strategy) + ", " + ranks + ", batch 128, threads=2");
  for (Series& series : many.series) {
    series.points.clear();
    for (std::size_t at = 0; at < many.x.categories.size(); ++at)
      series.points.push_back({.x = static_cast<double>(at), .y = 1, .trusted = at != 3});
  }
  const std::string page = page_of(testing::good_sweep(), {full_chart(), many, few_chart()});
  const std::string script = R"js(
    const charts = [...document.querySelectorAll('canvas[role=img]')];
    const stack = Chart.getChart(charts[1]);
    return {inner: innerWidth, scroll: document.documentElement.scrollWidth,
            rights: charts.map((canvas) => canvas.getBoundingClientRect().right),
            lies: stack.options.indexAxis === 'y', names: stack.config.data.names ?? [],
            height: charts[1].getBoundingClientRect().height,
            labels: stack.scales.x.ticks.map((tick) => [tick.label].flat().join(', '))};
  )js";
  const Json narrow = in_browser(page, script, 400);
  CHECK(narrow["problems"].dump() == "[]");
  CHECK(narrow["scroll"].get<int>() <= narrow["inner"].get<int>());
  for (const Json& right : narrow["rights"])
    CHECK(right.get<double>() <= narrow["inner"].get<double>());
  CHECK(narrow["lies"] == true);
  REQUIRE(narrow["names"].size() == 12);
  CHECK(narrow["names"][0] == "serial, n=1, batch 128, threads=2");
  CHECK(narrow["names"][3] == "○ ddp, n=1, batch 128, threads=2");
  CHECK(narrow["height"].get<double>() >= 12 * 30);
}

TEST_CASE("names of bars that have room stand below them, each of them", "[page]") {
  testing::require_browser();
  const Json told = in_browser(page_of(testing::good_sweep(), {bar_chart()}), R"js(
    const chart = Chart.getChart(document.querySelector('canvas[role=img]'));
    return {axis: chart.options.indexAxis,
            labels: chart.scales.x.ticks.map((tick) => [tick.label].flat().join(', '))};
  )js",
                               1280);
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["axis"] == "x");
  CHECK(told["labels"] == Json{"ddp n2", "dp n2"});
}

TEST_CASE("axes have their figures at the values, and room for intervals", "[page]") {
  testing::require_browser();
  Chart batches{.name = "throughput", .title = "Throughput"};
  batches.x = {.title = "batch", .scale = AxisScale::log2, .numbers = AxisNumbers::whole};
  batches.y = {.title = "samples/s"};
  batches.series = {{.name = "ddp", .points = {{.x = 24, .y = 10}, {.x = 48, .y = 20}}}};
  batches.series[0].points.push_back({.x = 100, .y = 20, .interval = Interval{-30, 90}});
  Chart log = batches;
  log.y = {.title = "speedup", .scale = AxisScale::log2, .low = 4.0};
  const Json told = in_browser(page_of(testing::good_sweep(), {batches, log}), R"js(
    return [...document.querySelectorAll('canvas[role=img]')].map((canvas) => {
      const {x, y} = Chart.getChart(canvas).scales;
      return {ticks: x.ticks.map((tick) => tick.value), low: y.min, high: y.max};
    }).reduce((all, chart, at) => ({...all, [at]: chart}), {});
  )js");
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["0"]["ticks"] == Json{24, 48, 100});
  CHECK(told["0"]["low"].get<double>() <= -30);
  CHECK(told["0"]["high"].get<double>() >= 90);
  CHECK(told["1"]["low"].get<double>() > 0);
  CHECK(told["1"]["high"].get<double>() >= 90);
}

TEST_CASE("a legend shows lines as the chart draws them, and hides them", "[page]") {
  testing::require_browser();
  Chart chart = full_chart();
  chart.series.push_back(
      {.name = "dp", .points = {{.x = 1, .y = 1}, {.x = 4, .y = 2}}, .look = 6, .variant = 1});
  chart.series.push_back(
      {.name = "far", .style = SeriesStyle::points, .points = {{.x = 1, .y = 2}}});
  chart.series.push_back(
      {.name = "serial", .style = SeriesStyle::reference, .points = {{1, 2}, {4, 2}}});
  const Json told = in_browser(page_of(testing::good_sweep(), {chart}), R"js(
    const drawn = Chart.getChart(document.querySelector('canvas[role=img]'));
    const buttons = [...document.querySelectorAll('.legend button')];
    const rows = buttons.map((button) => {
      const sample = button.querySelector('canvas');
      const {data} = sample.getContext('2d')
          .getImageData(0, Math.round(sample.height / 2), sample.width, 1);
      const filled = Array.from({length: sample.width}, (_, at) => (data[4 * at + 3] > 99 ? 1 : 0));
      return {share: filled.reduce((one, other) => one + other) / filled.length,
              ends: filled[1] + filled[filled.length - 2]};
    });
    buttons[0].click();
    const hidden = [drawn.isDatasetVisible(0), buttons[0].getAttribute('aria-pressed')];
    buttons[0].click();
    return {names: buttons.map((button) => button.textContent), rows, hidden,
            shown: drawn.isDatasetVisible(0),
            dashes: drawn.data.datasets.map((dataset) => dataset.borderDash.length > 0)};
  )js");
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["names"] == Json{"ddp", "ideal", "dp", "far", "serial"});
  CHECK(told["dashes"] == Json{false, true, true, false, false});
  CHECK(told["rows"][0]["share"] == 1);                 // a line with its mark
  CHECK(told["rows"][1]["share"].get<double>() < 0.9);  // dashes
  CHECK(told["rows"][2]["share"].get<double>() < 0.9);
  CHECK(told["rows"][3]["ends"] == 0);  // a mark alone
  CHECK(told["rows"][3]["share"].get<double>() > 0.2);
  CHECK(told["rows"][4]["share"] == 1);
  CHECK(told["hidden"] == Json{false, "false"});
  CHECK(told["shown"] == true);
}

TEST_CASE("bars beside each other have a place for each count of ranks", "[page]") {
  testing::require_browser();
  const Json told = in_browser(page_of(testing::good_sweep(), {few_chart()}), R"js(
    const canvas = document.querySelector('canvas[role=img]');
    const chart = Chart.getChart(canvas);
    const said = [];
    for (let turn = 0; turn < 3; turn += 1) {
      canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
      said.push(document.querySelector('figure output').textContent);
    }
    const bars = chart.getDatasetMeta(1).data;
    return {said, labels: chart.scales.x.ticks.map((tick) => [tick.label].flat().join()),
            types: chart.data.datasets.map((dataset) => dataset.type),
            fills: chart.data.datasets[1].backgroundColor.map((fill) => typeof fill),
            apart: bars[0].x - chart.getDatasetMeta(0).data[0].x, high: chart.scales.y.max};
  )js");
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["labels"] == Json{"1", "64"});
  CHECK(told["types"] == Json{"bar", "bar", "line"});
  CHECK(told["said"][0] == "ranks: 1, serial: 1");
  CHECK(told["said"][1] == "ranks: 1, ddp: 0.9");
  CHECK_THAT(told["said"][2].get<std::string>(),
             Catch::StartsWith("ranks: 64, ddp: 40 (95 %: 30 to 70), not reliable"));
  CHECK(told["apart"].get<double>() > 10);
  CHECK(told["high"].get<double>() >= 70);
}

TEST_CASE("without its library the page shows drawings and tables", "[page]") {
  testing::require_browser();
  const ResultFile file = testing::good_sweep();
  const Json told = in_browser(
      page_html({.files = {&file, 1}, .charts = {{.chart = full_chart(), .svg = "<svg/>"}}}), R"js(
    return {canvases: document.querySelectorAll('canvas').length,
            drawing: getComputedStyle(document.querySelector('img.static')).display,
            buttons: document.querySelectorAll('thead button').length};
  )js");
  CHECK(told["problems"].dump() == "[]");
  CHECK(told["canvases"] == 0);
  CHECK(told["drawing"] != "none");
  CHECK(told["buttons"].get<int>() > 0);
}

}  // namespace ptbench
