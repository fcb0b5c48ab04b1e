// Every chart's numbers are those of the records.
#include "charts/charts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <set>

#include "charts/chart_catalog.h"
#include "tests/judge/simulated_lockstep.h"
#include "tests/support/made_results.h"
#include "tests/support/refusal.h"

namespace ptbench {
namespace {

using testing::file_of;
using testing::made_collectives;
using testing::made_run;
using testing::made_sweep;

std::vector<Chart> charts_of(const std::vector<ResultFile>& files, const std::string& name) {
  const std::vector<std::string> names{name};
  return make_charts({.results = files}, names);
}

const Series& series_called(const Chart& chart, const std::string& name) {
  const auto found = std::ranges::find(chart.series, name, &Series::name);
  if (found == chart.series.end()) FAIL("no series " << name << " in " << chart.title);
  return *found;
}

bool has_series(const Chart& chart, const std::string& name) {
  return std::ranges::find(chart.series, name, &Series::name) != chart.series.end();
}

std::vector<std::string> names_of_series(const Chart& chart) {
  std::vector<std::string> names;
  for (const Series& series : chart.series) names.push_back(series.name);
  return names;
}

/// The run on so many ranks.
const RunRecord& run_of(const ResultFile& file, const std::string& strategy, double ranks) {
  const auto found = std::ranges::find_if(file.runs, [&](const RunRecord& run) {
    return run.strategy.name == strategy && static_cast<double>(run.strategy.world_size) == ranks;
  });
  REQUIRE(found != file.runs.end());
  return *found;
}

}  // namespace

TEST_CASE("speedup and efficiency are the records', from 1 to 1,024 ranks") {
  const std::vector<ResultFile> files{made_sweep({"ddp", "ddp-flat"}, 1024)};
  const std::vector<Chart> speedups = charts_of(files, "speedup");
  const std::vector<Chart> efficiencies = charts_of(files, "efficiency");
  REQUIRE(speedups.size() == 1);
  REQUIRE(efficiencies.size() == 1);
  CHECK(speedups[0].name == "speedup");
  CHECK(speedups[0].title == "Speedup of mlp in fp32, weak scaling");
  CHECK(speedups[0].x.scale == AxisScale::log2);
  for (const std::string& strategy : {std::string("ddp"), std::string("ddp-flat")}) {
    const Series& speedup = series_called(speedups[0], strategy);
    const Series& efficiency = series_called(efficiencies[0], strategy);
    REQUIRE(speedup.points.size() == 11);
    REQUIRE(efficiency.points.size() == 11);
    double ranks = 1;
    for (std::size_t at = 0; at < 11; ++at, ranks *= 2) {
      const ScalingRecord& scaling = *run_of(files[0], strategy, ranks).scaling;
      CHECK(speedup.points[at].x == ranks);
      CHECK(speedup.points[at].y == *scaling.speedup);
      CHECK(speedup.points[at].interval->low == Approx(ranks * scaling.efficiency_ci95->low));
      CHECK(speedup.points[at].interval->high == Approx(ranks * scaling.efficiency_ci95->high));
      CHECK(efficiency.points[at].x == ranks);
      CHECK(efficiency.points[at].y == Approx(100 * *scaling.efficiency));
      CHECK(efficiency.points[at].interval->low == Approx(100 * scaling.efficiency_ci95->low));
      CHECK(efficiency.points[at].trusted);
    }
  }
}

TEST_CASE("scaling charts have the ideal and both baselines") {
  const std::vector<ResultFile> files{made_sweep({"ddp"}, 4)};
  const Chart speedup = charts_of(files, "speedup").at(0);
  CHECK(names_of_series(speedup) ==
        std::vector<std::string>{"serial", "ddp", "serial on all cores", "ideal"});
  CHECK(speedup.x.scale == AxisScale::linear);
  const Series& ideal = series_called(speedup, "ideal");
  CHECK(ideal.style == SeriesStyle::ideal);
  CHECK(ideal.points.front().y == 1);
  CHECK(ideal.points.back().y == 4);
  const Series& all = series_called(speedup, "serial on all cores");
  CHECK(all.style == SeriesStyle::reference);
  CHECK(all.points.front().x == 1);
  CHECK(all.points.back().x == 4);
  CHECK(all.points.front().y == Approx(1.8));
  CHECK(all.points.back().y == Approx(1.8));
  CHECK(series_called(speedup, "serial").points.at(0).y == 1);

  const Chart efficiency = charts_of(files, "efficiency").at(0);
  const Series& point = series_called(efficiency, "serial on all cores");
  REQUIRE(point.points.size() == 1);
  CHECK(point.points[0].x == 2);  // threads
  CHECK(point.points[0].y == Approx(90));
  CHECK(series_called(efficiency, "ideal").points.back().y == 100);
}

TEST_CASE("what was never clean is not trusted, nor what is held against it") {
  ResultFile file = made_sweep({"ddp"}, 2);
  const RunRecord disturbed = made_run({.strategy = "ddp",
                                        .ranks = 4,
                                        .efficiency = 0.5,
                                        .clean = 0,
                                        .baseline = file.runs.front().id});
  file.runs.push_back(disturbed);
  const Chart chart = charts_of({file}, "speedup").at(0);
  const Series& series = series_called(chart, "ddp");
  REQUIRE(series.points.size() == 3);
  CHECK(series.points[0].trusted);
  CHECK(series.points[1].trusted);
  CHECK_FALSE(series.points[2].trusted);
  CHECK(series.points[2].note.find("0 of 3 repetitions clean") != std::string::npos);

  file.runs.front() =
      made_run({.strategy = "serial", .clean = 0, .baseline = file.runs.front().id});
  const std::vector<Chart> charts = charts_of({file}, "efficiency");
  for (const Point& point : series_called(charts.at(0), "ddp").points) CHECK_FALSE(point.trusted);
}

TEST_CASE("marks are filled where the record is reliable, by the rule that tables have") {
  ResultFile file = made_sweep({"ddp"}, 4);
  RunRecord& ddp = file.runs.at(2);
  const auto is_filled = [&](const std::string& name) {
    return series_called(charts_of({file}, name).at(0), "ddp").points.at(1).trusted;
  };
  REQUIRE(ddp.strategy.world_size == 2);
  CHECK(is_filled("speedup"));
  SECTION("two clean repetitions are too few") {
    ddp.samples.repetitions.back().clean_slices = 0;
    CHECK_FALSE(is_filled("speedup"));
    CHECK_FALSE(is_filled("efficiency"));
  }
  SECTION("an interval may be too wide") {
    ddp.throughput.ci95 =
        Interval{.low = 0.5 * *ddp.throughput.value, .high = 2 * *ddp.throughput.value};
    const Chart chart = charts_of({file}, "speedup").at(0);
    const Point& point = series_called(chart, "ddp").points.at(1);
    CHECK_FALSE(point.trusted);
    CHECK(point.note.find("950 to 3.80 k samples/s, 3 of 3") != std::string::npos);
  }
  SECTION("a baseline that is not reliable is named") {
    file.runs.front().throughput.ci95.reset();
    const Chart chart = charts_of({file}, "efficiency").at(0);
    CHECK(series_called(chart, "ddp").points.at(1).note.find("the baseline is not reliable: ") !=
          std::string::npos);
  }
}

TEST_CASE("what cannot be told from serial on all cores is not called faster or slower") {
  ResultFile file = made_sweep({"ddp"}, 2);
  ScalingRecord& scaling = *file.runs.at(2).scaling;
  const auto note = [&] {
    return series_called(charts_of({file}, "speedup").at(0), "ddp").points.at(1).note;
  };
  scaling.efficiency_vs_all_cores = 0.9;
  scaling.efficiency_vs_all_cores_ci95 = Interval{.low = 0.88, .high = 0.92};
  CHECK(note().find("0.90 ± 0.02 times as fast as serial on all cores") != std::string::npos);
  scaling.efficiency_vs_all_cores_ci95 = Interval{.low = 0.7, .high = 1.16};
  CHECK(note().find("cannot be told from serial on all cores (0.70 to 1.16)") != std::string::npos);
}

TEST_CASE("the parts of the loss and of the efficiency are the records' and add up to all") {
  const std::vector<ResultFile> files{made_sweep({"ddp"}, 8)};
  const std::vector<Chart> charts = charts_of(files, "loss");
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].x.categories ==
        std::vector<std::string>{"ddp, n=1", "ddp, n=2", "ddp, n=4", "ddp, n=8"});
  CHECK_FALSE(has_series(charts[0], "data"));  // nothing was lost to it anywhere
  for (std::size_t bar = 0; bar < 4; ++bar) {
    double sum = 0;
    for (const Series& series : charts[0].series) {
      CHECK(series.style == SeriesStyle::stacked);
      sum += series.points.at(bar).y;
    }
    CHECK(sum == Approx(100));
  }
  const ScalingRecord& scaling = *run_of(files[0], "ddp", 8).scaling;
  CHECK(series_called(charts[0], "reached").points[3].y == Approx(100 * *scaling.efficiency));
  CHECK(series_called(charts[0], "communication").points[3].y ==
        Approx(100 * *scaling.loss.communication));
  CHECK(series_called(charts[0], "overhead").points[3].y == Approx(100 * *scaling.loss.overhead));
}

TEST_CASE("phases are the records', communication only as far as it is exposed") {
  const std::vector<ResultFile> files{made_sweep({"ddp"}, 2)};
  const Chart chart = charts_of(files, "phases").at(0);
  CHECK(chart.x.categories == std::vector<std::string>{"serial, n=1, batch 64",
                                                       "ddp, n=1, batch 64", "ddp, n=2, batch 64",
                                                       "serial, n=1, batch 128, threads=2"});
  const RunRecord& run = run_of(files[0], "ddp", 2);
  CHECK(series_called(chart, "forward").points.at(2).y ==
        Approx(1e3 * *run.phases_seconds.forward));
  const Series& exposed = series_called(chart, "communication, exposed");
  REQUIRE(exposed.points.size() == 1);
  CHECK(exposed.points[0].x == 2);
  CHECK(exposed.points[0].y == Approx(1e3 * *run.phases_seconds.communication_exposed));
}

TEST_CASE("throughput is shown against batch where there are several") {
  std::vector<RunRecord> runs;
  for (const Size batch : {256, 32, 64, 1024})
    runs.push_back(made_run({.strategy = "serial", .batch = batch}));
  runs.push_back(made_run({.strategy = "ddp", .ranks = 2}));
  const std::vector<ResultFile> files{file_of(runs)};
  const std::vector<Chart> charts = charts_of(files, "throughput");
  REQUIRE(charts.size() == 1);
  CHECK(names_of_series(charts[0]) == std::vector<std::string>{"serial"});
  const std::vector<Point>& points = charts[0].series[0].points;
  REQUIRE(points.size() == 4);
  CHECK(points[0].x == 32);
  CHECK(points[3].x == 1024);
  CHECK(points[0].y == *runs[1].throughput.value);
  CHECK(points[0].interval->low == runs[1].throughput.ci95->low);
  CHECK(charts[0].x.scale == AxisScale::log2);
  CHECK(charts_of({made_sweep({"ddp"}, 2)}, "throughput").empty());
}

TEST_CASE("step times lie in the order in which they were measured, by what their slices are") {
  const std::vector<ResultFile> files{file_of({made_run({.strategy = "serial", .clean = 2})})};
  const std::vector<Chart> charts = charts_of(files, "steps");
  REQUIRE(charts.size() == 1);
  const RunRecord& run = files[0].runs[0];
  const Series& near = series_called(charts[0], "clean, near cores");
  CHECK(near.style == SeriesStyle::points);
  REQUIRE(near.points.size() == 10);
  CHECK(series_called(charts[0], "clean, far cores").points.size() == 10);
  CHECK(series_called(charts[0], "not clean").points.size() == 10);
  CHECK(near.points[0].x == 0);
  CHECK(near.points[0].y == Approx(1e3 * run.samples.step_seconds[0]));
  CHECK(near.points[1].x == Approx(run.samples.step_seconds[0]));
  CHECK(near.points[1].y == Approx(1e3 * run.samples.step_seconds[1]));
  REQUIRE(charts[0].marks.size() == 2);
  double first_repetition = 0;
  for (std::size_t at = 0; at < 10; ++at) first_repetition += run.samples.step_seconds[at];
  CHECK(charts[0].marks[0].x == Approx(first_repetition));
  CHECK(charts[0].marks[0].text == "repetition 2");
  CHECK(series_called(charts[0], "median of a slice").points.size() == 12);
}

TEST_CASE("slices of unknown load are apart from clean and unclean ones") {
  RunRecord run = made_run({.strategy = "serial", .clean = 2});
  run.samples.slices.back().clean.reset();
  const Chart chart = charts_of({file_of({run})}, "steps").at(0);
  CHECK(series_called(chart, "not known to be clean").points.size() == 5);
  CHECK(series_called(chart, "not clean").points.size() == 5);
}

TEST_CASE("records without samples show the medians of their slices") {
  RunRecord run = made_run({.strategy = "serial"});
  run.samples.step_seconds.clear();
  const Chart chart = charts_of({file_of({run})}, "steps").at(0);
  CHECK(series_called(chart, "clean, near cores").points.size() == 3);
  CHECK(series_called(chart, "clean, near cores").points[0].y ==
        Approx(1e3 * *run.samples.slices[0].median_seconds));
}

TEST_CASE("many samples are drawn as few points, with their extremes") {
  RunRecord run = made_run({.strategy = "serial"});
  run.samples.slices.resize(1);
  run.samples.slices[0].count = 50'000;
  run.samples.step_seconds.assign(50'000, 0.001);
  run.samples.step_seconds[77] = 0.5;
  const Chart chart = charts_of({file_of({run})}, "steps").at(0);
  const Series& series = series_called(chart, "clean, near cores");
  CHECK(series.points.size() <= 1000);
  const auto slowest = std::ranges::max_element(series.points, {}, [](const Point& point) {
    return point.interval ? point.interval->high : 0;
  });
  CHECK(slowest->interval->high == Approx(500));
  CHECK(slowest->y == Approx(1));
}

TEST_CASE("a history shows a run's step against its first, in the order of time") {
  RunRecord faster = made_run({.strategy = "serial"});
  *faster.step_seconds.median *= 0.5;
  faster.step_seconds.ci95.reset();
  const RunRecord first = made_run({.strategy = "serial"});
  std::vector<ResultFile> entries{file_of({faster}, "2025-07-02T00:00:00Z"),
                                  file_of({first}, "2025-07-01T00:00:00Z")};
  entries[0].accepted = {first.id};
  const std::vector<std::string> names{"history"};
  const std::vector<Chart> charts = make_charts({.history = entries}, names);
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].x.categories ==
        std::vector<std::string>{"2025-07-01 abc1234", "2025-07-02 abc1234"});
  const Series& series = series_called(charts[0], "serial");
  REQUIRE(series.points.size() == 2);
  CHECK(series.points[0].y == Approx(100));
  CHECK(series.points[0].interval->high == Approx(101));
  CHECK(series.points[1].y == Approx(50));
  CHECK_FALSE(series.points[1].interval);
  REQUIRE(charts[0].marks.size() == 1);
  CHECK(charts[0].marks[0].x == 1);
  CHECK(make_charts({.history = std::span(entries).first(1)}, names).empty());
}

TEST_CASE("results of two hosts and of one host twice are told apart") {
  std::vector<ResultFile> files{made_sweep({"ddp"}, 2), made_sweep({"ddp"}, 2)};
  files[1].environment.host.name = "vm-18";
  const Chart hosts = charts_of(files, "speedup").at(0);
  CHECK(has_series(hosts, "ddp, vm-17"));
  CHECK(has_series(hosts, "ddp, vm-18"));
  files[1].environment.host.name = "vm-17";
  files[1].created = "2025-07-01T00:00:00Z";
  const Chart times = charts_of(files, "speedup").at(0);
  CHECK(has_series(times, "ddp, 2025-06-30T12:34:56Z"));
  CHECK(has_series(times, "ddp, 2025-07-01T00:00:00Z"));
}

TEST_CASE("series that differ in options and batch are named by what differs") {
  const std::string serial = "mlp/serial/n1/b64/fp32/threads=1";
  const std::vector<ResultFile> files{file_of(
      {made_run({.strategy = "serial", .options = "/threads=1", .baseline = serial}),
       made_run({.ranks = 2, .efficiency = 0.9, .options = "/threads=1", .baseline = serial}),
       made_run({.ranks = 2,
                 .efficiency = 0.8,
                 .options = "/threads=1/overlap=off",
                 .baseline = serial})})};
  const Chart chart = charts_of(files, "efficiency").at(0);
  CHECK(names_of_series(chart) ==
        std::vector<std::string>{"serial", "ddp", "ddp, overlap=off", "ideal"});
}

TEST_CASE("a strategy is one series where some ids name the threads that all have") {
  const std::string serial = "mlp/serial/n1/b64/fp32/threads=1";
  std::vector<RunRecord> runs;
  for (const Size ranks : {1, 2, 4})
    runs.push_back(made_run({.ranks = ranks,
                             .efficiency = 0.9,
                             .options = ranks == 4 ? "/overlap=off" : "/threads=1/overlap=off",
                             .baseline = serial}));
  const Chart chart = charts_of({file_of(runs)}, "speedup").at(0);
  CHECK(names_of_series(chart) == std::vector<std::string>{"ddp", "ideal"});
  CHECK(series_called(chart, "ddp").points.size() == 3);
}

TEST_CASE("series that differ in threads are named by them, but for what most have") {
  const std::string serial = "mlp/serial/n1/b64/fp32";
  std::vector<RunRecord> runs{made_run({.ranks = 1, .efficiency = 0.9, .baseline = serial}),
                              made_run({.ranks = 2, .efficiency = 0.9, .baseline = serial})};
  runs[1].strategy.threads = 2;
  const auto names = [&] {
    return names_of_series(charts_of({file_of(runs)}, "efficiency").at(0));
  };
  CHECK(names() == std::vector<std::string>{"ddp, threads=1", "ddp, threads=2", "ideal"});
  runs.push_back(made_run({.strategy = "dp", .ranks = 1, .efficiency = 0.9, .baseline = serial}));
  CHECK(names() == std::vector<std::string>{"ddp", "ddp, threads=2", "dp", "ideal"});
}

TEST_CASE("a thing looks the same on all charts, whichever are wanted") {
  std::vector<ResultFile> files{made_sweep({"dp", "ddp"}, 4)};
  files[0].runs.push_back(made_run({.batch = 32}));
  const std::vector<Chart> charts = make_charts({.results = files});
  std::map<std::string, std::set<std::size_t>> looks;
  std::map<std::size_t, std::set<std::string>> things;
  for (const Chart& chart : charts)
    for (const Series& series : chart.series) {
      if (series.style != SeriesStyle::line && series.style != SeriesStyle::points) continue;
      const std::string& thing = series.thing.empty() ? series.name : series.thing;
      looks[thing].insert(series.look);
      things[series.look].insert(thing);
    }
  REQUIRE(looks.size() >= 3);
  for (const auto& [thing, numbers] : looks) CHECK(numbers.size() == 1);
  const Series small = charts_of(files, "throughput").at(0).series.at(0);
  CHECK(small.thing == series_called(charts_of(files, "speedup").at(0), "ddp").thing);
  for (const auto& [look, all] : things) CHECK(all.size() == 1);

  const std::size_t ddp = series_called(charts_of(files, "speedup").at(0), "ddp").look;
  CHECK(series_called(charts_of(files, "efficiency").at(0), "ddp").look == ddp);
  for (const Chart& chart : charts_of(files, "steps"))
    if (chart.title == "Steps of mlp in fp32, ddp, n=4, batch 64")
      for (const char* const kind : {"clean, near cores", "clean, far cores"})
        CHECK(series_called(chart, kind).look == ddp);
  for (const char* const name : {"efficiency", "loss", "phases", "steps", "throughput"})
    for (const Chart& alone : charts_of(files, name)) {
      const auto same = std::ranges::find(charts, alone.name, &Chart::name);
      REQUIRE(same != charts.end());
      REQUIRE(same->series.size() == alone.series.size());
      for (std::size_t at = 0; at < alone.series.size(); ++at)
        CHECK(alone.series[at].look == same->series[at].look);
    }
}

TEST_CASE("a part of a step looks the same in the loss and among phases") {
  std::vector<ResultFile> files{made_sweep({"ddp"}, 2)};
  for (RunRecord& run : files[0].runs)
    if (run.scaling) run.scaling->loss.data = 0.01;
  const Chart loss = charts_of(files, "loss").at(0);
  const Chart phases = charts_of(files, "phases").at(0);
  CHECK(series_called(loss, "data").look == series_called(phases, "data").look);
  CHECK(series_called(loss, "communication").look ==
        series_called(phases, "communication, exposed").look);
  CHECK(series_called(loss, "data").look != series_called(phases, "forward").look);
}

TEST_CASE("things of one chart differ in colour, and their variants in dashes") {
  std::vector<ResultFile> files{made_sweep({"ddp", "dp"}, 4)};
  for (const Size ranks : {1, 2, 4})
    files[0].runs.push_back(made_run(
        {.ranks = ranks, .batch = 32, .efficiency = 0.9, .baseline = files[0].runs.front().id}));
  const Chart speedup = charts_of(files, "speedup").at(0);
  const Series& one = series_called(speedup, "ddp, batch 64");
  const Series& other = series_called(speedup, "ddp, batch 32");
  CHECK(one.look == other.look);
  CHECK(one.variant == 0);
  CHECK(other.variant == 1);
  for (const char* const name : {"phases", "loss", "speedup"})
    for (const Chart& chart : charts_of(files, name)) {
      std::set<std::size_t> colours;
      std::set<std::string> things;
      for (const Series& series : chart.series) {
        if (series.style == SeriesStyle::reference || series.style == SeriesStyle::ideal) continue;
        const std::size_t count = series.style == SeriesStyle::stacked ? 9 : 8;
        colours.insert(series.look % count);
        things.insert(series.thing.empty() ? series.name : series.thing);
      }
      CHECK(colours.size() == things.size());
    }
}

TEST_CASE("the mark of a step says what its slice was") {
  const std::vector<ResultFile> files{file_of({made_run({.strategy = "serial", .clean = 2})})};
  const Chart chart = charts_of(files, "steps").at(0);
  CHECK(series_called(chart, "clean, near cores").shape == PointShape::own);
  CHECK(series_called(chart, "clean, far cores").shape == PointShape::cross);
  CHECK(series_called(chart, "not clean").shape == PointShape::hollow);
}

TEST_CASE("the pairs of a gate are marks, with the change and the interval that decided") {
  std::vector<ResultFile> files{file_of({made_run({})}), file_of({made_run({})})};
  for (ResultFile& file : files) file.runs[0].samples = {};
  testing::LockstepSimulation machine({}, 7);
  for (int pair = 0; pair < 6; ++pair)
    machine.add_pair({}, {.seconds = 0.009}, files[0].runs[0].samples, files[1].runs[0].samples);
  const std::vector<std::string> sides{"BASE", "NEW"};
  Comparison comparison = compare(std::span(files).first(1), std::span(files).last(1), {}, {});
  const auto pairs = [&] {
    const std::vector<std::string> names{"pairs"};
    return make_charts({.results = files, .sides = sides, .comparison = &comparison}, names);
  };
  REQUIRE(pairs().size() == 1);
  const Chart chart = pairs()[0];
  CHECK(chart.x.categories == std::vector<std::string>{"all", "1", "2", "3", "4", "5", "6"});
  const Series& typical = series_called(chart, "typical step");
  REQUIRE(typical.points.size() == 7);
  CHECK(typical.points[0].y == Approx(100 * *comparison.runs[0].change));
  for (const Point& point : typical.points) CHECK(point.y == Approx(50).margin(15));
  const Series& mean = series_called(chart, "mean step");
  CHECK(mean.points[0].y == Approx(100 * *comparison.runs[0].mean_change));
  CHECK(typical.points[0].interval.has_value() != mean.points[0].interval.has_value());

  DecidingChange& deciding = comparison.runs[0].deciding.emplace();
  deciding.statistic = Statistic::mean;
  deciding.interval = Interval{.low = 0.4, .high = 0.6};
  const Chart by_mean = pairs()[0];
  CHECK_FALSE(series_called(by_mean, "typical step").points[0].interval);
  CHECK(series_called(by_mean, "mean step").points[0].interval->high == Approx(60));

  comparison.runs[0].id = "another";
  CHECK(pairs().empty());
}

TEST_CASE("both sides of a comparison stand next to each other") {
  std::vector<ResultFile> files{made_sweep({"ddp"}, 2), made_sweep({"ddp"}, 2)};
  const std::vector<std::string> sides{"BASE", "NEW"};
  const std::vector<std::string> names{"phases"};
  const Chart chart = make_charts({.results = files, .sides = sides}, names).at(0);
  CHECK(chart.x.categories[0] == "serial, n=1, batch 64, BASE");
  CHECK(chart.x.categories[1] == "serial, n=1, batch 64, NEW");
  CHECK(chart.x.categories[2] == "ddp, n=1, batch 64, BASE");
  CHECK(chart.x.categories[3] == "ddp, n=1, batch 64, NEW");
}

TEST_CASE("two places or fewer are bars, three are lines") {
  for (const char* const name : {"speedup", "efficiency"}) {
    INFO(name);
    const Chart two = charts_of({made_sweep({"ddp"}, 2)}, name).at(0);
    CHECK(series_called(two, "ddp").style == SeriesStyle::bars);
    CHECK(series_called(two, "serial").style == SeriesStyle::bars);
    CHECK(series_called(two, "ddp").points.at(1).x == 2);
    CHECK(two.y.low == 0.0);
    const Chart three = charts_of({made_sweep({"ddp"}, 4)}, name).at(0);
    CHECK(series_called(three, "ddp").style == SeriesStyle::line);
  }
  const std::string serial = "mlp/serial/n1/b64/fp32";
  const Chart far = charts_of({file_of({made_run({.ranks = 1, .baseline = serial}),
                                        made_run({.ranks = 64, .baseline = serial})})},
                              "speedup")
                        .at(0);
  CHECK(far.series.at(0).style == SeriesStyle::bars);
  CHECK(far.y.scale == AxisScale::linear);
  const Chart batches = charts_of({file_of({made_run({.strategy = "serial", .batch = 32}),
                                            made_run({.strategy = "serial", .batch = 64})})},
                                  "throughput")
                            .at(0);
  CHECK(batches.series.at(0).style == SeriesStyle::bars);
}

TEST_CASE("intervals fit between the ends of the axis") {
  ResultFile file = made_sweep({"ddp"}, 4);
  for (RunRecord& run : file.runs)
    if (run.strategy.world_size == 2)
      run.scaling->efficiency_ci95 = Interval{.low = -0.4, .high = 2.3};
  for (const char* const name : {"speedup", "efficiency"}) {
    INFO(name);
    const Chart chart = charts_of({file}, name).at(0);
    const Interval interval = *series_called(chart, "ddp").points.at(1).interval;
    CHECK(*chart.y.low <= interval.low);
    CHECK(chart.y.high.value_or(interval.high) >= interval.high);
  }
}

TEST_CASE("a logarithmic axis has an end for intervals that reach 0") {
  ResultFile file = made_sweep({"ddp"}, 64);
  CHECK_FALSE(charts_of({file}, "speedup").at(0).y.low);
  for (RunRecord& run : file.runs)
    if (run.strategy.world_size == 2)
      run.scaling->efficiency_ci95 = Interval{.low = -0.4, .high = 1.3};
  const Chart chart = charts_of({file}, "speedup").at(0);
  REQUIRE(chart.y.scale == AxisScale::log2);
  CHECK(chart.y.low.value_or(0) > 0);
  CHECK(chart.y.low.value_or(9) < 1);
}

TEST_CASE("bandwidth is the records', and the floor the shortest time") {
  std::vector<CollectiveRecord> records = made_collectives("shm", 2);
  for (const CollectiveRecord& record : made_collectives("mpi", 4)) records.push_back(record);
  records.back().wrong = 3;
  const std::vector<Chart> charts = make_charts({.collectives = records});
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].name == "comm");
  const Series& series = series_called(charts[0], "shm, 2 ranks");
  REQUIRE(series.points.size() == 6);
  for (std::size_t at = 0; at < 6; ++at) {
    CHECK(series.points[at].x == static_cast<double>(records[at].bytes));
    CHECK(series.points[at].y ==
          Approx(static_cast<double>(records[at].bytes) / records[at].seconds / 1e9));
  }
  CHECK_FALSE(series_called(charts[0], "mpi, 4 ranks").points.back().trusted);
  const Series& floor = charts[0].series.back();
  CHECK(floor.style == SeriesStyle::ideal);
  CHECK(floor.name.starts_with("latency floor: 2"));
  CHECK(floor.points[0].y == Approx(4096 / records[0].seconds / 1e9));
}

TEST_CASE("collectives that were measured twice are two series") {
  std::vector<CollectiveRecord> records = made_collectives("shm", 2);
  for (const CollectiveRecord& record : made_collectives("shm", 2)) records.push_back(record);
  const Chart chart = make_charts({.collectives = records}).at(0);
  CHECK(has_series(chart, "shm, 2 ranks"));
  CHECK(has_series(chart, "shm, 2 ranks (2)"));
}

TEST_CASE("records that show nothing make no charts") {
  CHECK(make_charts({}).empty());
  RunRecord failed = made_run({.baseline = "x"});
  failed.status = Status::failed;
  RunRecord bare;
  bare.id = "mlp/ddp/n2/b64/fp32";
  bare.strategy.world_size = 0;
  RunRecord bare_but_fast = bare;
  bare_but_fast.id += "/a=b";
  bare_but_fast.throughput.value = 3;
  bare_but_fast.scaling.emplace();
  const std::vector<ResultFile> files{file_of({failed, bare, bare_but_fast}), file_of({})};
  CHECK(make_charts({.results = files}).empty());
}

TEST_CASE("a single run has charts of its own") {
  const std::vector<ResultFile> files{file_of({made_run({.strategy = "serial"})})};
  std::vector<std::string> names;
  for (const Chart& chart : make_charts({.results = files})) names.push_back(chart.name);
  CHECK(names == std::vector<std::string>{"phases", "steps"});
}

TEST_CASE("charts of many series and bars come in parts") {
  std::vector<RunRecord> runs;
  const std::string serial = "mlp/serial/n1/b64/fp32";
  for (int option = 0; option < 30; ++option)
    for (const Size ranks : {1, 2})
      runs.push_back(made_run({.ranks = ranks,
                               .efficiency = 0.9,
                               .options = "/bucket-mb=" + std::to_string(option),
                               .baseline = serial}));
  const std::vector<ResultFile> files{file_of(runs)};
  const std::vector<Chart> charts = charts_of(files, "speedup");
  REQUIRE(charts.size() == 3);
  CHECK(charts[2].name == "speedup-3");
  CHECK(charts[2].title == "Speedup of mlp in fp32, weak scaling (3 of 3)");
  std::size_t lines = 0;
  for (const Chart& chart : charts) {
    CHECK(chart.series.back().name == "ideal");
    lines += chart.series.size() - 1;
  }
  CHECK(lines == 30);
  std::size_t bars = 0;
  for (const Chart& chart : charts_of(files, "phases")) {
    CHECK(chart.x.categories.size() <= 24);
    for (const Point& point : chart.series.at(0).points)
      CHECK(point.x < static_cast<double>(chart.x.categories.size()));
    bars += chart.series.at(0).points.size();
  }
  CHECK(bars == 60);
}

TEST_CASE("what is no number is not drawn") {
  RunRecord run = made_run({.strategy = "ddp", .ranks = 2, .baseline = "gone"});
  run.scaling->speedup = 1e308;
  run.scaling->efficiency = 1e308;
  run.scaling->efficiency_ci95 = Interval{.low = 1, .high = std::numeric_limits<double>::max()};
  const std::vector<ResultFile> files{file_of({run})};
  CHECK_FALSE(series_called(charts_of(files, "speedup").at(0), "ddp").points.at(0).interval);
  CHECK(charts_of(files, "efficiency").empty());
}

TEST_CASE("a chart that does not exist is refused with a suggestion") {
  const std::vector<std::string> names{"speedups"};
  CHECK(testing::mentions(testing::refusal_of([&] { return make_charts({}, names); }),
                          "did you mean 'speedup'?"));
}

TEST_CASE("ten thousand runs make charts of bounded size") {
  std::vector<RunRecord> runs;
  for (int workload = 0; workload < 10; ++workload)
    for (Size batch = 1; batch <= 1000; ++batch)
      runs.push_back(made_run(
          {.workload = "w" + std::to_string(workload), .strategy = "serial", .batch = batch}));
  const std::vector<ResultFile> files{file_of(std::move(runs))};
  const std::vector<Chart> throughput = charts_of(files, "throughput");
  REQUIRE(throughput.size() == 10);
  CHECK(throughput[0].series.at(0).points.size() == 1000);
  CHECK(charts_of(files, "steps").size() == kMostStepCharts);
}

}  // namespace ptbench
