// The page in a browser, as its readers have it.
#include "tests/page/browser.h"

#include <catch2/catch.hpp>

#include "page/page.h"
#include "src/publish/chart_library.h"
#include "src/publish/page_report.h"
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
  for (const canvas of document.querySelectorAll('canvas')) {
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
      page_of(testing::good_sweep(), {full_chart(), bar_chart(), size_chart()});
  check_is_drawn(in_browser(page, kCanvasColours), 3);
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
