#include "reports/sweep_text.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <sstream>

#include "reports/wrap.h"
#include "tests/reports/comma_locale.h"
#include "tests/reports/example.h"

namespace ptbench {
namespace {

using Catch::Contains;

RunRecord swept_row(Size batch, const std::string& precision, double throughput) {
  RunRecord run;
  run.id = "mlp/serial/n1/b" + std::to_string(batch) + "/" + precision + "/threads=2";
  run.workload.name = "mlp";
  run.strategy.name = "serial";
  run.strategy.precision = precision;
  run.strategy.batch_per_replica = batch;
  run.throughput.value = throughput;
  run.throughput.ci95 = Interval{throughput * 0.996, throughput * 1.004};
  run.step_seconds.median = static_cast<double>(batch) / throughput;
  run.step_seconds.run_to_run_sd = *run.step_seconds.median * 0.0123;
  run.samples.repetitions = {
      {0.004, "near", 2}, {0.004, "far", 1}, {0.004, "near", 1}, {0.005, "near", 0}};
  run.compute.utilization = 0.781;
  run.memory.peak_bytes = 123'456'789;
  return run;
}

RunRecord trouble(RunRecord run, Status status, const std::string& reason) {
  run.status = status;
  run.reason = reason;
  return run;
}

ResultFile sweep_of(std::vector<RunRecord> runs) {
  ResultFile file = testing::example_file();
  file.runs = std::move(runs);
  return file;
}

ResultFile swept() {
  std::vector<RunRecord> runs{
      swept_row(32, "fp32", 21300), swept_row(64, "fp32", 31234.5),
      trouble(swept_row(32, "bf16", 40000), Status::failed, "out of memory"),
      swept_row(64, "bf16", 1.2e6)};
  for (const char* batch : {"32", "64"})
    runs.push_back(trouble(swept_row(std::stol(batch), "fp16", 0), Status::skipped,
                           "--precision fp16: CPUs cannot multiply it"));
  runs[0].warnings = {{"few-samples", "only 4 samples were measured", "Measure for longer."}};
  runs[1].warnings = {{"few-samples", "only 7 samples were measured", "Measure for longer."},
                      {"odd", "it was odd", ""}};
  return sweep_of(runs);
}

}  // namespace

TEST_CASE("a sweep for people", "[reports]") {
  CHECK(sweep_console(swept()) == testing::golden("sweep.txt"));
}

TEST_CASE("the table of a sweep does not depend on the locale", "[reports]") {
  const testing::CommaLocale locale;
  CHECK(sweep_console(swept()) == testing::golden("sweep.txt"));
}

TEST_CASE("a sweep says once what all of its runs have in common", "[reports]") {
  const std::string text = sweep_console(swept());
  CHECK_THAT(text, Contains("all runs     mlp, serial, n 1, threads 2\n"));
  CHECK_THAT(text, !Contains("workload"));
}

TEST_CASE("the table of one run names workload and strategy", "[reports]") {
  const std::string text = sweep_console(sweep_of({swept_row(32, "fp32", 21300)}));
  CHECK_THAT(text, Contains("workload") && Contains("strategy") && Contains("threads"));
  CHECK_THAT(text, !Contains("all runs"));
}

TEST_CASE("an option that only some runs have gets a column", "[reports]") {
  RunRecord other = swept_row(32, "fp32", 20000);
  other.id += "/data=/a=b/c,d/lr=0.5";
  const std::string text = sweep_console(sweep_of({swept_row(32, "fp32", 21300), other}));
  CHECK_THAT(text, Contains("data") && Contains("lr"));
  CHECK_THAT(text, Contains("0.5") && Contains("threads 2"));
}

TEST_CASE("an option that only skipped runs have gets none", "[reports]") {
  RunRecord other = trouble(swept_row(32, "fp32", 0), Status::skipped, "it cannot be shared");
  other.id += "/global-batch=31";
  const std::string text = sweep_console(sweep_of({other, swept_row(32, "fp32", 21300)}));
  CHECK_THAT(text, !Contains("global-batch  "));
  CHECK_THAT(text, Contains("/global-batch=31: it cannot be shared"));
}

TEST_CASE("speedup and efficiency are shown where they are known", "[reports]") {
  std::vector<RunRecord> runs{swept_row(32, "fp32", 21300), swept_row(64, "fp32", 31000)};
  CHECK_THAT(sweep_console(sweep_of(runs)), !Contains("speedup"));
  runs[1].scaling = ScalingRecord{
      .mode = ScalingMode::weak, .baseline = runs[0].id, .speedup = 1.8, .efficiency = 0.9};
  CHECK_THAT(sweep_console(sweep_of(runs)),
             Contains("speedup  efficiency") && Contains("1.80") && Contains("90.0 %"));
}

TEST_CASE("rows on several hosts say what was lost between them, beside what was predicted",
          "[reports]") {
  constexpr ConsoleStyle kWide{.columns = 300};
  std::vector<RunRecord> runs{swept_row(64, "fp32", 31000), swept_row(64, "fp32", 56000)};
  for (RunRecord& run : runs) run.strategy.hosts = 1;
  runs[1].scaling.emplace();
  for (const char* heading : {"hosts", "link", "across", "predicted"})
    CHECK_THAT(sweep_console(sweep_of(runs), kWide), !Contains(heading));
  runs[1].strategy.hosts = 2;
  runs[1].link = LinkRecord{
      .latency_seconds = 0.00021, .bandwidth_bytes_per_second = 1.17e8, .communicator = "shm+gloo"};
  runs[1].scaling->efficiency_within_hosts = 0.957;
  runs[1].scaling->efficiency_across_hosts = 0.61;
  runs[1].scaling->efficiency_across_hosts_ci95 = Interval{0.596, 0.624};
  runs[1].scaling->predicted.efficiency_across_hosts = 0.643;
  const std::string text = sweep_console(sweep_of(runs), kWide);
  CHECK_THAT(text, Contains("within hosts  across hosts  predicted"));
  CHECK_THAT(text, Contains("210 µs, 117 MB/s") && Contains("95.7 %  61.0 ± 1.4 %     64.3 %"));
  CHECK_THAT(text, Contains("; across hosts: "));
  runs[1].scaling->predicted.overlapped_efficiency_across_hosts = 0.8312;
  CHECK_THAT(sweep_console(sweep_of(runs), kWide), Contains("64.3 to 83.1 %"));
  for (const std::string& line : testing::lines_of(sweep_console(sweep_of(runs), {.columns = 60})))
    CHECK(code_points(line) <= 60);
  CHECK_THAT(sweep_console(sweep_of(runs), {.columns = 60}),
             Contains("64.3 to 83.1 %") && !Contains("within hosts"));
  runs[0] = swept_row(32, "fp32", 31000);
  runs[0].strategy.hosts = 2;
  CHECK_THAT(sweep_console(sweep_of(runs), kWide), Contains("hosts 2"));
}

TEST_CASE("throughput stays in a table for which all figures are too wide", "[reports]") {
  std::vector<RunRecord> runs{swept_row(64, "fp32", 31000), swept_row(64, "fp32", 56000)};
  for (RunRecord& run : runs) {
    run.throughput.ci95 = Interval{1234.5, 5678900};
    run.scaling.emplace();
    run.scaling->speedup = 0.00182;
    run.scaling->efficiency = 0.00091;
    run.scaling->efficiency_ci95 = Interval{0.00012, 0.0231};
    run.scaling->efficiency_across_hosts = 0.012;
    run.scaling->efficiency_across_hosts_ci95 = Interval{0.0001, 0.9123};
  }
  runs[1].strategy.hosts = 2;
  const std::string text = sweep_console(sweep_of(runs), {.columns = 50});
  CHECK_THAT(text, Contains("run         samples/s    efficiency  across hosts\n"));
  CHECK_THAT(text, Contains("1  1.23 k to 5.68 M"));
  for (const std::string& line : testing::lines_of(text)) CHECK(code_points(line) <= 50);
  const std::string narrow = sweep_console(sweep_of(runs), {.columns = 35});
  CHECK_THAT(narrow, Contains("samples/s") && !Contains("across hosts"));
}

TEST_CASE("engines are named, and set beside the first one", "[reports]") {
  std::vector<RunRecord> runs{swept_row(64, "fp32", 31000), swept_row(64, "fp32", 20000)};
  runs[1].id += "/engine=pytorch";
  runs[1].versus = VersusRecord{.run = runs[0].id,
                                .step_time_ratio = 1.55,
                                .step_time_ratio_ci95 = Interval{1.4449, 1.66},
                                .pairs_in_turns = 5};
  const std::string text = sweep_console(sweep_of(runs));
  CHECK_THAT(text, Contains("step ratio") && Contains("1.55 ± 0.11"));
  CHECK_THAT(text, Contains("native") && Contains("pytorch"));
  runs[1].versus->step_time_ratio_ci95.reset();
  CHECK_THAT(sweep_console(sweep_of(runs)), Contains(" 1.55") && !Contains("1.55 ±"));
}

TEST_CASE("a sweep says what was lost in scaling, in the width of the screen", "[reports]") {
  std::vector<RunRecord> runs{swept_row(64, "fp32", 31000), swept_row(64, "fp32", 56000)};
  runs[1].id = "mlp/ddp/n2/b64/fp32";
  runs[1].strategy.name = "ddp";
  runs[1].strategy.world_size = 2;
  runs[1].strategy.threads = 2;
  runs[1].scaling = ScalingRecord{.mode = ScalingMode::weak,
                                  .baseline = runs[0].id,
                                  .speedup = 1.8,
                                  .efficiency = 0.9,
                                  .efficiency_ci95 = Interval{0.888, 0.914},
                                  .efficiency_vs_one_rank = 0.91,
                                  .loss = {.compute_slowdown = 0.06,
                                           .batch_effect = 0.0,
                                           .communication = 0.03,
                                           .wait = 0.01,
                                           .data = 0.0,
                                           .overhead = 0.0}};
  for (RunRecord& run : runs) run.samples.repetitions.push_back({0.004, "near", 2});
  const std::string text = sweep_console(sweep_of(runs));
  CHECK_THAT(text, Contains("all runs     mlp, batch 64, fp32, threads 2\n"));
  CHECK_THAT(text, Contains("90.0 ± 1.3 %"));
  CHECK_THAT(text, Contains("\nscaling      ddp n2: 10.0 % lost, most of it to compute slowdown"));
  for (const std::string& line : testing::lines_of(text)) CHECK(code_points(line) <= 100);
}

TEST_CASE("a run that was interrupted shows what was measured of it", "[reports]") {
  const RunRecord run = trouble(swept_row(32, "fp32", 21300), Status::interrupted, "by a signal");
  const std::string text = sweep_console(sweep_of({run, swept_row(64, "fp32", 1)}));
  CHECK_THAT(text, Contains("21.3 k ± 0.4 %"));
  CHECK_THAT(text, Contains("interrupted  mlp/serial/n1/b32/fp32/threads=2: by a signal"));
}

TEST_CASE("no line of a sweep is wider than the screen", "[reports]") {
  ResultFile file = swept();
  SECTION("usual ids") {}
  SECTION("long names") {
    for (RunRecord& run : file.runs) {
      run.workload.name = std::string(300, 'x');
      run.id = run.workload.name + "/serial";
    }
    file.runs[0].workload.name += "y";
  }
  SECTION("many options") {
    for (std::size_t at = 0; at < file.runs.size(); ++at)
      for (const char* option : {"accumulate", "loss-scale", "optimizer", "weight-decay"})
        file.runs[at].id += fmt::format("/{}={}", option, 1000 + at);
  }
  SECTION("names that are hostile") {
    file.runs[0] = testing::full_run();
    file.runs[1].id = "\x1b[31m\xFF\n";
  }
  for (const std::size_t columns : {100U, 60U})
    for (const std::string& line : testing::lines_of(sweep_console(file, {.columns = columns}))) {
      INFO(line);
      CHECK(code_points(line) <= columns);
      CHECK(line.find('\x1b') == std::string::npos);
    }
}

TEST_CASE("the columns of a sweep are explained, those that it has", "[reports]") {
  constexpr ConsoleStyle kWide{.columns = 300};
  std::vector<RunRecord> runs{swept_row(32, "fp32", 21300), swept_row(64, "fp32", 31000)};
  CHECK_THAT(sweep_console(sweep_of(runs), kWide), Contains("\ncolumns      samples/s: ") &&
                                                       Contains("; clean: ") &&
                                                       !Contains("speedup: "));
  for (RunRecord& run : runs) run.samples.repetitions.clear();
  CHECK_THAT(sweep_console(sweep_of(runs), kWide), !Contains("clean: "));
}

TEST_CASE("a sweep ends with its conclusion", "[reports]") {
  const std::string text = sweep_console(swept(), {.columns = 200});
  CHECK_THAT(text, Contains("\nconclusion   ") && Catch::EndsWith(".\n"));
  CHECK(text.find('\n', text.find("\nconclusion") + 1) == text.size() - 1);
}

TEST_CASE("a sweep of nothing says so", "[reports]") {
  CHECK_THAT(sweep_console(sweep_of({})), Catch::EndsWith("nothing was measured\n"));
}

TEST_CASE("the table of a sweep has colour only where it is asked for", "[reports]") {
  CHECK_THAT(sweep_console(swept()), !Contains("\x1b"));
  CHECK_THAT(sweep_console(swept(), {.colour = true}),
             Contains("\x1b[31mfailed") && Contains("\x1b[33mwarning"));
}

}  // namespace ptbench
