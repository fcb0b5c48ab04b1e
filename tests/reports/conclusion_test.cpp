#include "reports/conclusion.h"

#include <catch2/catch.hpp>

#include "tests/reports/example.h"

namespace ptbench {
namespace {

using Catch::Contains;

/// Five clean repetitions, ± 1 %.
RunRecord measured(const std::string& strategy, Size ranks, double throughput) {
  RunRecord run;
  run.id = "mlp/" + strategy + "/n" + std::to_string(ranks) + "/b64/fp32";
  run.workload.name = "mlp";
  run.strategy.name = strategy;
  run.strategy.world_size = ranks;
  run.strategy.threads = 1;
  run.throughput.value = throughput;
  run.throughput.ci95 = Interval{0.99 * throughput, 1.01 * throughput};
  run.samples.repetitions.assign(5,
                                 {.median_seconds = 0.01, .placement = "near", .clean_slices = 2});
  return run;
}

void disturb(RunRecord& run, std::size_t repetitions) {
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition)
    run.samples.repetitions[repetition].clean_slices = 0;
}

RunRecord scaled(const std::string& strategy, double speedup, double half_width) {
  RunRecord run = measured(strategy, 2, 10'000 * speedup);
  run.scaling.emplace();
  run.scaling->baseline = "mlp/serial/n1/b64/fp32";
  run.scaling->speedup = speedup;
  run.scaling->efficiency = speedup / 2;
  run.scaling->efficiency_ci95 = Interval{(speedup - half_width) / 2, (speedup + half_width) / 2};
  run.scaling->all_cores = "mlp/serial/n1/b128/fp32/threads=2";
  run.scaling->efficiency_vs_all_cores = 0.84;
  run.scaling->efficiency_vs_all_cores_ci95 = Interval{0.82, 0.86};
  return run;
}

/// serial, serial on both cores, `dp` and, faster, `ddp`.
ResultFile sweep() {
  ResultFile file = testing::example_file();
  file.runs = {measured("serial", 1, 10'000), measured("serial", 1, 22'000),
               scaled("dp", 1.5, 0.05), scaled("ddp", 1.87, 0.03)};
  file.runs[1].id = "mlp/serial/n1/b128/fp32/threads=2";
  file.runs[1].strategy.threads = 2;
  return file;
}

RunComparison compared(const std::string& id, Verdict verdict, double change) {
  RunComparison run;
  run.id = id;
  run.verdict = verdict;
  run.change = change;
  run.change_ci99 = Interval{change - 0.009, change + 0.009};
  return run;
}

Comparison comparison_of(std::vector<RunComparison> runs) {
  Comparison comparison;
  comparison.runs = std::move(runs);
  return comparison;
}

}  // namespace

TEST_CASE("a sweep ends with the fastest run, and what ranks bring", "[reports]") {
  CHECK(conclusion_of(sweep()) ==
        "Serial on both cores is the fastest of 4 runs: 22.0 k samples/s ± 1 %, 1.19 ± 0.03 times "
        "as fast as the next, `ddp` on 2 ranks. `ddp` on 2 ranks is 1.87 ± 0.03 times as fast as "
        "serial on one core.");
}

TEST_CASE("where ranks win, their lead over serial is told once", "[reports]") {
  ResultFile file = sweep();
  file.runs[1].throughput.value = 16'000;
  file.runs[1].throughput.ci95 = Interval{15'800, 16'200};
  file.runs[2].throughput.value = 12'000;
  file.runs[3].scaling->efficiency_vs_all_cores = 1.17;
  file.runs[3].scaling->efficiency_vs_all_cores_ci95 = Interval{1.15, 1.19};
  CHECK(conclusion_of(file) ==
        "`ddp` on 2 ranks is the fastest of 4 runs: 18.7 k samples/s ± 1 %. It is 1.87 ± 0.03 "
        "times as fast as serial, and 1.17 ± 0.02 times as fast as serial on both cores.");
}

TEST_CASE("no ratio is claimed whose interval has 1 in it", "[reports]") {
  ResultFile file = sweep();
  ScalingRecord& ddp = *file.runs[3].scaling;
  SECTION("of serial") {
    ddp.speedup = 1.74;
    ddp.efficiency_ci95 = Interval{0.425, 1.78};
    CHECK_THAT(conclusion_of(file),
               Catch::EndsWith("`ddp` on 2 ranks cannot be told from serial on one core (0.85 to "
                               "3.56)."));
    file.runs.erase(file.runs.begin() + 1);
    CHECK(conclusion_of(file) ==
          "`ddp` on 2 ranks is the fastest of 3 runs, but within the noise of serial: 18.7 k "
          "samples/s ± 1 %. `ddp` on 2 ranks cannot be told from serial (0.85 to 3.56).");
  }
  SECTION("of serial on all cores") {
    ddp.efficiency_vs_all_cores_ci95 = Interval{0.7, 1.01};
    CHECK(conclusion_of(file) ==
          "Serial on both cores is the fastest of 4 runs, but within the noise of `ddp` on 2 "
          "ranks: 22.0 k samples/s ± 1 %. `ddp` on 2 ranks is 1.87 ± 0.03 times as fast as serial "
          "on one core, but cannot be told from serial on both cores (0.70 to 1.01).");
  }
  SECTION("of both") {
    ddp.efficiency_ci95 = Interval{0.425, 1.78};
    ddp.efficiency_vs_all_cores_ci95 = Interval{0.7, 1.01};
    CHECK_THAT(conclusion_of(file),
               Contains("cannot be told from serial on one core (0.85 to 3.56), nor from serial on "
                        "both cores (0.70 to 1.01)."));
  }
}

TEST_CASE("a lopsided interval is told by its ends", "[reports]") {
  ResultFile file = sweep();
  file.runs[3].scaling->efficiency_ci95 = Interval{0.7, 1.25};
  CHECK_THAT(conclusion_of(file),
             Contains("is 1.87 (1.40 to 2.50) times as fast as serial on one core."));
  file.runs[3].scaling->efficiency_ci95 = Interval{0.55, 1.6};
  CHECK_THAT(conclusion_of(file), Contains("is 1.10 to 3.20 times as fast as serial on one core."));
}

TEST_CASE("a ratio of what is not reliable says so", "[reports]") {
  ResultFile file = sweep();
  file.runs[3].throughput.ci95 = Interval{0.9 * 18'700, 1.1 * 18'700};
  CHECK_THAT(conclusion_of(file),
             Catch::EndsWith("times as fast as serial on one core; `ddp` on 2 ranks is not "
                             "reliable: ± 10 %, 5 of 5 repetitions clean."));
}

TEST_CASE("what serial is, is told where it is not the usual", "[reports]") {
  ResultFile file = sweep();
  file.runs[0].strategy.threads = 4;
  file.runs[0].strategy.precision = "bf16";
  file.runs[1].strategy.threads = 8;
  file.environment.cpu.cores = 8;
  const std::string text = conclusion_of(file);
  CHECK_THAT(text, Contains("as fast as serial in bf16 with 4 threads."));
  CHECK_THAT(text, Catch::StartsWith("Serial on all 8 cores is the fastest"));
  file.runs[1].throughput.value = 16'000;
  file.runs[3].scaling->efficiency_vs_all_cores = 1.17;
  file.runs[3].scaling->efficiency_vs_all_cores_ci95 = Interval{1.15, 1.19};
  CHECK_THAT(conclusion_of(file), Contains("serial in bf16 with 4 threads, and") &&
                                      Contains("as fast as serial on all 8 cores."));
  file.environment.cpu.cores = 16;
  CHECK_THAT(conclusion_of(file), Contains("as fast as serial on 8 cores."));
}

TEST_CASE("narrow intervals keep their digits", "[reports]") {
  ResultFile file = sweep();
  file.runs[3].scaling->efficiency_ci95 = Interval{(1.87 - 0.004) / 2, (1.87 + 0.004) / 2};
  CHECK_THAT(conclusion_of(file), Contains("is 1.870 ± 0.004 times"));
}

TEST_CASE("nothing is claimed without an interval, or of disturbed repetitions", "[reports]") {
  ResultFile file = sweep();
  SECTION("no interval of the fastest: the next one speaks") {
    file.runs[3].scaling->efficiency_ci95.reset();
    CHECK_THAT(conclusion_of(file), Contains("`dp` on 2 ranks is 1.50 ± 0.05 times"));
  }
  SECTION("three of five of the fastest were disturbed") {
    disturb(file.runs[3], 3);
    CHECK_THAT(conclusion_of(file), Contains("`dp` on 2 ranks"));
  }
  SECTION("serial on all cores was disturbed") {
    disturb(file.runs[1], 3);
    CHECK_THAT(conclusion_of(file),
               Catch::StartsWith("`ddp` on 2 ranks is the fastest of 4 runs: ") &&
                   Catch::EndsWith("the next, `dp` on 2 ranks. A higher throughput, 22.0 k "
                                   "samples/s by serial on both cores, is not reliable: 2 of 5 "
                                   "repetitions clean. `ddp` on 2 ranks is 1.87 ± 0.03 times as "
                                   "fast as serial."));
  }
  SECTION("the baseline was disturbed") {
    disturb(file.runs[0], 5);
    const std::string text = conclusion_of(file);
    CHECK_THAT(text, Contains("How much faster several ranks are is not known"));
    CHECK_THAT(text, !Contains("1.87") && !Contains("1.5"));
  }
  SECTION("the baseline is not in the file") {
    file.runs.erase(file.runs.begin());
    CHECK_THAT(conclusion_of(file), Contains("How much faster several ranks are is not known"));
  }
}

TEST_CASE("runs of one name are told apart by their ids", "[reports]") {
  ResultFile file = sweep();
  file.runs[2] = scaled("ddp", 1.5, 0.05);
  file.runs[3].id += "/overlap=on";
  CHECK_THAT(conclusion_of(file), Contains("the next, `mlp/ddp/n2/b64/fp32/overlap=on`. "
                                           "`mlp/ddp/n2/b64/fp32/overlap=on` is 1.87"));
}

TEST_CASE("each workload has its sentence", "[reports]") {
  ResultFile file = sweep();
  RunRecord other = measured("serial", 1, 500);
  other.id = "odd\x1b/serial/n1/b64/fp32";
  other.workload.name = "odd\x1b";
  file.runs.push_back(other);
  const std::string text = conclusion_of(file);
  CHECK_THAT(text, Catch::StartsWith("`mlp`: serial on both cores is the fastest of 4 runs"));
  CHECK_THAT(text, Catch::EndsWith("core. `odd\\x1b`: serial trains 500 samples/s ± 1 %."));
}

TEST_CASE("without ranks the fastest run is told", "[reports]") {
  ResultFile file = testing::example_file();
  file.runs = {measured("serial", 1, 10'000), measured("grad-accum", 1, 12'000),
               measured("amp", 1, 11'000)};
  SECTION("plainly") {
    CHECK(conclusion_of(file) ==
          "`grad-accum` is the fastest of 3 runs: 12.0 k samples/s ± 1 %, 1.09 ± 0.01 times as "
          "fast as the next, `amp`.");
  }
  SECTION("with a rival") {
    file.runs[2].throughput.value = 11'900;
    file.runs[2].throughput.ci95 = Interval{11'700, 12'100};
    CHECK(conclusion_of(file) ==
          "`grad-accum` is the fastest of 3 runs, but within the noise of `amp`: 12.0 k samples/s "
          "± 1 %.");
  }
  SECTION("with a rival that is not reliable") {
    file.runs[2].throughput.value = 13'000;
    file.runs[2].throughput.ci95.reset();
    disturb(file.runs[2], 5);
    CHECK_THAT(conclusion_of(file),
               Catch::StartsWith("`grad-accum` is the fastest of 3 runs: ") &&
                   Catch::EndsWith("the next, serial. A higher throughput, 13.0 k samples/s by "
                                   "`amp`, is not reliable: 0 of 5 repetitions clean."));
  }
  SECTION("unless nothing is reliable") {
    for (RunRecord& run : file.runs) disturb(run, 5);
    CHECK(conclusion_of(file) ==
          "Which run is the fastest cannot be said: none of 3 has 3 clean repetitions. The highest "
          "throughput, 12.0 k samples/s by `grad-accum`, is not reliable: 0 of 5 repetitions "
          "clean.");
  }
  SECTION("unless nothing was measured") {
    for (RunRecord& run : file.runs) run.status = Status::failed;
    CHECK(conclusion_of(file) == "Nothing was measured.");
  }
}

TEST_CASE("a file without runs has no conclusion", "[reports]") {
  CHECK(conclusion_of(ResultFile{}).empty());
  CHECK(conclusion_of(Comparison{}).empty());
}

TEST_CASE("a comparison ends with how much slower NEW is", "[reports]") {
  CHECK(conclusion_of(comparison_of({compared("a", Verdict::slower, 0.05)})) ==
        "A step of NEW takes 5.0 % longer (99 %: 4.1 % to 5.9 %) than one of BASE.");
  CHECK(conclusion_of(comparison_of({compared("a", Verdict::slower, 0.05),
                                     compared("b", Verdict::slower, 0.07),
                                     compared("c", Verdict::same, 0)})) ==
        "NEW is slower than BASE in 2 of 3 runs, most of all: a step of `b` takes 7.0 % longer "
        "(99 %: 6.1 % to 7.9 %).");
}

TEST_CASE("a comparison tells what became faster, and what failed", "[reports]") {
  CHECK(conclusion_of(
            comparison_of({compared("a", Verdict::faster, -0.1), compared("b", Verdict::failed, 0),
                           compared("c", Verdict::missing, 0)})) ==
        "NEW is faster than BASE in 1 of 3 runs: a step of `a` takes 10.0 % less (99 %: 9.1 % to "
        "10.9 %); 1 run failed in NEW; 1 run is missing in NEW.");
}

TEST_CASE("a run that is slower in its mean step alone is told by it", "[reports]") {
  RunComparison run = compared("a", Verdict::slower, 0.001);
  run.deciding = DecidingChange{.statistic = Statistic::mean,
                                .change = 0.136,
                                .interval = Interval{0.12, 0.15},
                                .level = 0.999};
  CHECK(conclusion_of(comparison_of({run})) ==
        "A mean step of NEW takes 13.6 % longer (99.9 %: 12.0 % to 15.0 %) than one of BASE.");
}

TEST_CASE("a comparison that finds nothing says so, and one that cannot tell says that",
          "[reports]") {
  CHECK(conclusion_of(
            comparison_of({compared("a", Verdict::same, 0), compared("b", Verdict::same, 0)})) ==
        "NEW is as fast as BASE within 5.0 % in both runs.");
  CHECK(conclusion_of(comparison_of({compared("a", Verdict::same, 0)})) ==
        "NEW is as fast as BASE within 5.0 %.");
  CHECK(conclusion_of(comparison_of(
            {compared("a", Verdict::same, 0), compared("b", Verdict::ambiguous, 0)})) ==
        "NEW is as fast as BASE within 5.0 % in 1 of 2 runs.");
  CHECK(conclusion_of(comparison_of(
            {compared("a", Verdict::ambiguous, 0.2), compared("b", Verdict::incomparable, 0)})) ==
        "It is not clear whether NEW is slower than BASE: 1 ambiguous, 1 incomparable.");
}

}  // namespace ptbench
