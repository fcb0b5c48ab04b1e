#include "page/page.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <regex>

#include "tests/page/page_records.h"

namespace ptbench {
namespace {

using Catch::Contains;
using testing::measured_run;
using testing::page_file;
using testing::troubled;

Chart example_chart() {
  Chart chart{.name = "speedup", .title = "Speedup of mlp", .caption = "Higher is better."};
  chart.x = {.title = "ranks", .numbers = AxisNumbers::whole};
  chart.y = {.title = "speedup"};
  chart.series = {
      {.name = "ddp",
       .points = {{.x = 1, .y = 1},
                  {.x = 2, .y = 1.8, .interval = Interval{1.7, 1.9}, .note = "batch 64"},
                  {.x = 4, .y = 2.5, .trusted = false}}},
      {.name = "ideal", .style = SeriesStyle::ideal, .points = {{1, 1}, {4, 4}}}};
  return chart;
}

std::string page_of(const ResultFile& file) {
  return page_html({.files = {&file, 1},
                    .charts = {{.chart = example_chart(), .svg = "<svg/>"}},
                    .library = "var Chart;"});
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

/// Elements that are opened are closed, those without content aside.
void check_elements(const std::string& html) {
  for (const char* name :
       {"html",    "head",  "body",   "header",  "main",   "footer",     "nav",
        "section", "div",   "table",  "caption", "thead",  "tbody",      "tr",
        "td",      "th",    "dl",     "dt",      "dd",     "ul",         "li",
        "p",       "h1",    "h2",     "h3",      "figure", "figcaption", "details",
        "summary", "small", "strong", "code",    "pre",    "script",     "style"}) {
    CAPTURE(name);
    const std::regex opened("<" + std::string(name) + "[ >]");
    const auto opens = std::distance(std::sregex_iterator(html.begin(), html.end(), opened),
                                     std::sregex_iterator());
    CHECK(static_cast<std::size_t>(opens) == count(html, "</" + std::string(name) + ">"));
  }
}

/// The page of one chart, as much of it as scripts read.
std::string data_of(const std::string& html) {
  const std::string begin = "id=\"chart-data\">";
  const std::size_t at = html.find(begin) + begin.size();
  return html.substr(at, html.find("</script>", at) - at);
}

/// The page of a gate in which a step of NEW is slower, as `judged` says besides.
std::string page_of_gate(RunComparison judged) {
  const std::vector<ResultFile> files{page_file({measured_run({})}), page_file({measured_run({})})};
  const std::vector<std::string> sides{"BASE", "NEW"};
  judged.id = files[0].runs[0].id;
  judged.verdict = Verdict::slower;
  Comparison comparison;
  comparison.runs = {std::move(judged)};
  return page_html({.files = files, .comparison = &comparison, .sides = sides});
}

}  // namespace

TEST_CASE("a page begins with the answer and ends with the command", "[page]") {
  const std::string html = page_of(testing::good_sweep());
  check_elements(html);
  CHECK_THAT(html, Contains("<title>ptbench: mlp</title>"));
  CHECK_THAT(html, Contains("ddp on 2 ranks is the fastest of 3 runs"));
  CHECK_THAT(html, Contains("<strong>90.0 ± 1.0 %</strong>"));
  CHECK_THAT(html, Contains("<strong>communication: 6.0 %</strong>"));
  CHECK_THAT(html, Contains("ptbench sweep -w mlp --data &#39;it&#39;\\&#39;&#39;s here&#39;"));
  std::vector<std::size_t> places;
  for (const char* id :
       {"answer", "losses", "charts", "runs", "verification", "environment", "command"}) {
    CAPTURE(id);
    places.push_back(html.find("<section id=\"" + std::string(id) + "\""));
    CHECK(places.back() != std::string::npos);
    CHECK_THAT(html, Contains("<a href=\"#" + std::string(id) + "\">"));
  }
  CHECK(std::ranges::is_sorted(places));
}

TEST_CASE("a page tells hosts where a run is on several", "[page]") {
  ResultFile file = testing::good_sweep();
  for (RunRecord& run : file.runs) run.strategy.hosts = 1;
  CHECK_THAT(page_of(file), !Contains(">hosts<"));
  RunRecord& run = file.runs.back();
  run.strategy.hosts = 2;
  run.link = LinkRecord{
      .latency_seconds = 0.00021, .bandwidth_bytes_per_second = 1.17e8, .communicator = "shm+gloo"};
  run.scaling->efficiency_within_hosts = 0.957;
  run.scaling->efficiency_across_hosts = 0.61;
  run.scaling->predicted.efficiency_across_hosts = 0.643;
  const std::string html = page_of(file);
  check_elements(html);
  for (const char* text :
       {">hosts<", ">across hosts<", "210 µs, 117 MB/s", "95.7 %", "61.0 %", "64.3 %"})
    CHECK_THAT(html, Contains(text));
}

TEST_CASE("a page asks nothing of others", "[page]") {
  const std::string html = page_of(testing::good_sweep());
  CHECK_THAT(html, Contains("default-src 'none'; img-src data:;"));
  CHECK(html.find("http:") == std::string::npos);
  CHECK(html.find("https:") == std::string::npos);
  CHECK(html.find("@import") == std::string::npos);
  CHECK(html.find("<link") == std::string::npos);
  CHECK(count(html, " src=") == count(html, " src=\"data:"));
}

TEST_CASE("equal content gives an equal page", "[page]") {
  CHECK(page_of(testing::good_sweep()) == page_of(testing::good_sweep()));
  CHECK(page_of(testing::good_sweep()) != page_of(testing::noisy_sweep()));
}

TEST_CASE("doubt stands where the numbers stand", "[page]") {
  const std::string html = page_of(testing::noisy_sweep());
  check_elements(html);
  CHECK_THAT(html, Contains("<p class=\"lead doubt\">Which run is the fastest cannot be said"));
  CHECK_THAT(html, Contains("<small>not reliable: 0 of 5 repetitions clean</small>"));
  CHECK_THAT(html, Contains("<strong>too-noisy</strong>: for instance, the repetitions scatter"));
  CHECK_THAT(html, Contains("3 of 3 runs"));
}

TEST_CASE("a chart has a drawing, values as a table, and data", "[page]") {
  const std::string html = page_of(testing::good_sweep());
  CHECK_THAT(html, Contains("<img class=\"static\" loading=\"lazy\" decoding=\"async\" "
                            "alt=\"Chart: Speedup of mlp. Higher is better. "
                            "Hollow marks are not reliable.\" src=\"data:image/svg+xml"));
  CHECK_THAT(html, Contains("1.7 to 1.9") && Contains("not reliable"));
  CHECK_THAT(data_of(html), Contains("[2.0,1.8,1.7,1.9,1,\"batch 64\"]") &&
                                Contains("[4.0,2.5,null,null,0]") &&
                                Contains("\"style\":\"ideal\""));
  CHECK_THAT(html, Contains("var Chart;"));
}

TEST_CASE("what is missing is said, and the rest is there", "[page]") {
  const ResultFile file = testing::good_sweep();
  const std::string html = page_html({.files = {&file, 1},
                                      .charts = {{.chart = example_chart()}},
                                      .remarks = {"Chart.js is <not> there."}});
  check_elements(html);
  CHECK_THAT(html, Contains("There is no drawing of this chart"));
  CHECK_THAT(html, Contains("<p class=\"remark\">Chart.js is &lt;not&gt; there.</p>"));
  CHECK_THAT(html, !Contains("new Chart("));
}

TEST_CASE("hostile names stay texts", "[page]") {
  const ResultFile file = testing::hostile_file();
  const std::string text = testing::hostile_text();
  Chart chart = example_chart();
  chart.title = chart.caption = chart.x.title = chart.y.title = text;
  for (Series& series : chart.series) {
    series.name = text;
    for (Point& point : series.points) point.note = text;
  }
  chart.marks = {{1, text}};
  const std::string html = page_html(
      {.files = {&file, 1}, .charts = {{.chart = chart, .svg = text}}, .remarks = {text}});
  check_elements(html);
  CHECK(html.find("<img src=x") == std::string::npos);
  CHECK(html.find("<b>") == std::string::npos);
  CHECK(data_of(html).find('<') == std::string::npos);
  CHECK(count(html, "<script") == 2);
}

TEST_CASE("records of which little is known give a page", "[page]") {
  ResultFile bare;
  check_elements(page_html({.files = {&bare, 1}}));
  CHECK_THAT(page_html({.files = {&bare, 1}}), Contains("No run was measured."));
  CHECK_THAT(page_html({}), Contains("contain nothing to show"));
  bare.runs.resize(2);
  check_elements(page_html({.files = {&bare, 1}}));
  const ResultFile failed =
      page_file({troubled(measured_run({}), Status::failed, "out of <memory>"),
                 troubled(measured_run({.strategy = "dp"}), Status::interrupted, "asked to")});
  const std::string html = page_of(failed);
  check_elements(html);
  CHECK_THAT(html, Contains("Nothing was measured: 1 run failed, 1 run was interrupted."));
  CHECK_THAT(html, Contains("<strong>failed</strong>: out of &lt;memory&gt;"));
  CHECK_THAT(html, !Contains("samples/s"));
}

TEST_CASE("numbers that JSON and HTML lack are left out", "[page]") {
  RunRecord run = measured_run({});
  run.step_seconds.p99 = std::numeric_limits<double>::infinity();
  run.step_seconds.median = std::nan("");
  run.compute.utilization = -std::numeric_limits<double>::infinity();
  const std::string html = page_of(page_file({run}));
  CHECK(html.find("\"nan") == std::string::npos);
  CHECK(html.find("\"inf") == std::string::npos);
}

TEST_CASE("two hundred runs are a small page, and ten thousand are one too", "[page]") {
  const auto page_of_runs = [](std::size_t runs) {
    ResultFile file = page_file({});
    for (std::size_t at = 0; at < runs; ++at) {
      RunRecord run = measured_run({.throughput = 10'000.0 + static_cast<double>(at)});
      run.id += "/lr=" + std::to_string(at);
      run.warnings = {{"few-samples", "only 4 samples were measured", "Measure for longer."}};
      file.runs.push_back(run);
    }
    return page_html({.files = {&file, 1}});
  };
  CHECK(page_of_runs(200).size() < 500'000);
  const std::string large = page_of_runs(10'000);
  CHECK_THAT(large, Contains("10000 runs, all of"));
  CHECK(count(large, "<tr>") == 10'001);
}

TEST_CASE("the page of a gate is about BASE beside NEW", "[page]") {
  RunComparison run;
  run.base_seconds = 0.0064;
  run.new_seconds = 0.0068;
  run.change = 0.0625;
  run.change_ci99 = Interval{0.055, 0.07};
  run.pairs = 6;
  const std::string html = page_of_gate(std::move(run));
  check_elements(html);
  CHECK_THAT(html, Contains("<title>slower: mlp/serial/n1/b64/fp32 (ptbench)</title>"));
  CHECK_THAT(html, Contains("<h1>A step of NEW takes 6.2 % longer"));
  CHECK_THAT(html, Contains("<h2>BASE beside NEW</h2>") || Contains(">BASE beside NEW</h2>"));
  for (const char* text : {"6.40 ms", "6.80 ms", "6 pairs of processes in lockstep"})
    CHECK_THAT(html, Contains(std::string("<strong>") + text));
  CHECK_THAT(html,
             Contains("<th scope=\"row\">BASE</th>") && Contains("<th scope=\"row\">NEW</th>"));
  CHECK_THAT(html, Contains("<h3>BASE</h3>") && Contains("<h3>NEW</h3>"));
  for (const char* word : {"Scaling efficiency", "Largest loss", "Fastest"})
    CHECK_THAT(html, !Contains(word));
}

TEST_CASE("the page of a gate shows the interval that decided, and no other", "[page]") {
  RunComparison run;
  run.base_seconds = 0.0064;
  run.new_seconds = 0.0097;
  run.base_ci95 = run.new_ci95 = Interval{0.0061, 0.0099};
  run.change = 0.511;
  run.change_ci99 = Interval{-0.132, 1.631};
  run.deciding = DecidingChange{.statistic = Statistic::mean,
                                .base_seconds = 0.01,
                                .new_seconds = 0.01521,
                                .change = 0.521,
                                .interval = Interval{0.455, 0.589},
                                .level = 0.999};
  const std::string html = page_of_gate(std::move(run));
  for (const char* text : {"<strong>10.0 ms", "<strong>15.2 ms", "<strong>mean +52.1 %",
                           "<small>99.9 %: 45.5 % to 58.9 %</small>", "45.5 % to 58.9 % (99.9 %)"})
    CHECK_THAT(html, Contains(text));
  for (const char* text : {"13.2 %", "163.1 %", "51.1 %", "6.10 ms"})
    CHECK_THAT(html, !Contains(text));
}

TEST_CASE("verdicts stand before everything else", "[page]") {
  const ResultFile fresh = testing::good_sweep();
  Comparison comparison;
  comparison.differences = {"cpu.model A / <B>"};
  RunComparison& slower = comparison.runs.emplace_back();
  slower.id = fresh.runs.front().id;
  slower.verdict = Verdict::slower;
  slower.base_seconds = 0.0064;
  slower.new_seconds = 0.0068;
  slower.change = 0.0625;
  slower.change_ci99 = Interval{0.055, 0.07};
  RunComparison& other = comparison.runs.emplace_back();
  other.id = "<other>";
  other.reason = "too noisy";
  const std::string html = page_html({.files = {&fresh, 1}, .comparison = &comparison});
  check_elements(html);
  CHECK(html.find("<section id=\"verdicts\"") < html.find("<section id=\"answer\""));
  CHECK_THAT(html, Contains("<title>1 slower, 1 ambiguous (ptbench)</title>"));
  CHECK_THAT(html, Contains("<h1>NEW is slower than BASE in 1 of 2 runs: "));
  CHECK_THAT(html, Contains("<td class=\"bad\">slower</td>"));
  CHECK_THAT(html, Contains("+6.25 %") || Contains("+6.2 %"));
  CHECK_THAT(html, Contains("cpu.model A / &lt;B&gt;") && Contains("&lt;other&gt;"));
}

}  // namespace ptbench
