#include "reports/scaling_text.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

using Catch::Contains;
using Lines = std::vector<std::string>;

ScalingRecord scaling_of(double speedup, Size ranks) {
  return {.mode = ScalingMode::weak,
          .baseline = "mlp/serial/n1/b64/fp32",
          .speedup = speedup,
          .efficiency = speedup / static_cast<double>(ranks),
          .loss = {}};
}

void add_repetitions(RunRecord& run, Size clean) {
  run.samples.repetitions.clear();
  for (Size repetition = 0; repetition < 3; ++repetition)
    run.samples.repetitions.push_back(
        {.median_seconds = 0.01, .placement = "near", .clean_slices = repetition < clean ? 1 : 0});
}

RunRecord run_of(const std::string& strategy, Size ranks, double speedup) {
  RunRecord run;
  run.id = "mlp/" + strategy + "/n" + std::to_string(ranks) + "/b64/fp32";
  run.workload.name = "mlp";
  run.strategy.name = strategy;
  run.strategy.world_size = ranks;
  run.strategy.batch_per_replica = 64;
  run.scaling = scaling_of(speedup, ranks);
  run.throughput.value = 1000 * speedup;
  run.throughput.ci95 = Interval{.low = 990 * speedup, .high = 1010 * speedup};
  add_repetitions(run, 3);
  return run;
}

/// Of 2 ranks, with a speedup of 1.84.
RunRecord ddp(const ScalingLossRecord& loss) {
  RunRecord run = run_of("ddp", 2, 1.84);
  run.scaling->loss = loss;
  return run;
}

ScalingLossRecord mostly(std::optional<double> ScalingLossRecord::* term) {
  ScalingLossRecord loss{.compute_slowdown = 0.01,
                         .batch_effect = 0.0,
                         .communication = 0.01,
                         .wait = 0.0,
                         .data = -0.01,
                         .overhead = 0.01};
  loss.*term = 0.06;
  return loss;
}

RunRecord baseline_of(Size clean = 3) {
  RunRecord run = run_of("serial", 1, 1);
  run.scaling.reset();
  add_repetitions(run, clean);
  return run;
}

std::string line_of(const RunRecord& run) {
  ResultFile file;
  file.runs = {baseline_of(), run};
  const Lines lines = scaling_lines(file);
  REQUIRE(lines.size() == 1);
  return lines[0];
}

RankRecord rank_of(Size rank, double compute) {
  return {.rank = rank, .compute_seconds = compute, .wait_seconds = 0};
}

}  // namespace

TEST_CASE("a file without scaling says nothing of it", "[reports]") {
  ResultFile file;
  CHECK(scaling_lines(file).empty());
  file.runs = {run_of("serial", 1, 1), run_of("ddp", 1, 0.99), RunRecord{}};
  CHECK(scaling_lines(file).empty());
}

TEST_CASE("communication that costs most is met by communicating less often", "[reports]") {
  RunRecord run = ddp(mostly(&ScalingLossRecord::communication));
  run.strategy.communicator = "shm";
  run.strategy.overlap = GENERATE(false, true);
  CHECK(line_of(run) ==
        "ddp n2: 8.0 % lost, most of it to communication (6.0 %): try a larger batch, or "
        "--accumulate 4 to communicate less often");
  run.strategy.accumulation_steps = 4;
  CHECK_THAT(line_of(run), Contains("--accumulate 8"));
  run.scaling->mode = ScalingMode::strong;
  CHECK_THAT(line_of(run), Catch::EndsWith("): try a larger --global-batch"));
}

TEST_CASE("gradients in a smaller type are advised only where they are sent", "[reports]") {
  RunRecord run = ddp(mostly(&ScalingLossRecord::communication));
  run.strategy.overlap = true;
  for (const std::optional<bool> sends : {std::optional<bool>(), std::optional(false)}) {
    run.strategy.sends_values = sends;
    CHECK_THAT(line_of(run), !Contains("--reduce-precision"));
  }
  run.strategy.sends_values = true;
  CHECK_THAT(line_of(run), Catch::EndsWith("--reduce-precision bf16"));
  run.id += "/reduce-precision=bf16";
  CHECK_THAT(line_of(run), !Contains("--reduce-precision"));
}

TEST_CASE("a strategy that communicates more has another one advised", "[reports]") {
  RunRecord run = ddp(mostly(&ScalingLossRecord::communication));
  run.strategy.name = "ddp-flat";
  CHECK_THAT(line_of(run), Catch::EndsWith("try a larger batch or --strategy ddp"));
  run.phases_seconds.replicate = 0.001;
  CHECK_THAT(line_of(run), Contains("moves only gradients"));
}

TEST_CASE("how ranks communicate is best left to measuring", "[reports]") {
  RunRecord run = ddp(mostly(&ScalingLossRecord::communication));
  const std::string option = GENERATE("overlap", "bucket-mb");
  run.id += "/" + option + "=1";
  CHECK_THAT(line_of(run), Contains("try without --" + option + ", which is then chosen"));
}

TEST_CASE("where ranks share cores, that is the cause of what they lose", "[reports]") {
  const auto term = GENERATE(&ScalingLossRecord::compute_slowdown, &ScalingLossRecord::wait,
                             &ScalingLossRecord::communication, &ScalingLossRecord::overhead);
  RunRecord run = ddp(mostly(term));
  run.ranks = {rank_of(0, 0.01), rank_of(1, 0.0112)};
  run.warnings = {
      {.code = "oversubscribed-cores", .message = "2 threads share 1 core", .remedy = ""}};
  CHECK_THAT(line_of(run),
             Catch::EndsWith("threads share cores: try fewer ranks or fewer --threads"));
}

TEST_CASE("waiting names the rank that is waited for", "[reports]") {
  RunRecord run = ddp(mostly(&ScalingLossRecord::wait));
  CHECK_THAT(line_of(run),
             Contains("to wait (6.0 %)") && Contains("a different rank is slow each time"));
  run.ranks = {rank_of(0, 0.01), rank_of(1, 0.0112)};
  CHECK_THAT(line_of(run), Contains("rank 1 computes 12.0 % longer than the others: check what"));
  run.id += "/slow-rank=1:1.12";
  CHECK_THAT(line_of(run), Catch::EndsWith("longer than the others: leave out --slow-rank"));
}

TEST_CASE("each cause has its advice", "[reports]") {
  CHECK_THAT(line_of(ddp(mostly(&ScalingLossRecord::compute_slowdown))),
             Contains("compute slowdown (6.0 %)") && Contains("--threads"));
  CHECK_THAT(line_of(ddp(mostly(&ScalingLossRecord::batch_effect))),
             Contains("batch effect (6.0 %): micro-batches of 64") && Contains("--global-batch"));
  CHECK_THAT(line_of(ddp(mostly(&ScalingLossRecord::data))), Contains("--data-workers"));
  RunRecord run = ddp(mostly(&ScalingLossRecord::overhead));
  CHECK_THAT(line_of(run), Contains("larger batch per rank"));
  run.scaling->mode = ScalingMode::strong;
  CHECK_THAT(line_of(run), Contains("larger --global-batch"));
}

TEST_CASE("a loss whose cause is not known is told all the same", "[reports]") {
  CHECK_THAT(line_of(ddp({})), Contains("8.0 % lost") && Contains("not known"));
}

TEST_CASE("where nothing was lost there is no advice", "[reports]") {
  CHECK(line_of(run_of("ddp", 2, 2.02)) == "ddp n2: efficiency 101.0 %");
  RunRecord noisy = ddp(mostly(&ScalingLossRecord::wait));
  noisy.scaling->efficiency_ci95 = Interval{.low = 0.8, .high = 1.05};
  CHECK(line_of(noisy) == "ddp n2: efficiency 92.0 ± 12.5 %, which cannot be told from 100 %");
  noisy.scaling->efficiency_ci95 = Interval{.low = 0.5, .high = 1.7};
  CHECK(line_of(noisy) == "ddp n2: efficiency 50.0 to 170.0 %, which cannot be told from 100 %");
}

TEST_CASE("a loss that is not known well is told by its ends", "[reports]") {
  RunRecord run = ddp(mostly(&ScalingLossRecord::wait));
  run.scaling->efficiency = 0.5;
  run.scaling->efficiency_ci95 = Interval{.low = 0.25, .high = 0.98};
  CHECK_THAT(line_of(run), Catch::StartsWith("ddp n2: 2.0 to 75.0 % lost, most of it to wait"));
}

TEST_CASE("a row says which rounds its speedup is of where its throughput is of others",
          "[reports]") {
  RunRecord run = run_of("ddp", 2, 0.78);
  const RunRecord baseline = run_of("serial", 1, 1);
  CHECK(rounds_text(run, &baseline).empty());  // apart
  run.scaling->basis = RatioBasis::clean_rounds;
  run.scaling->rounds = 3;
  CHECK(rounds_text(run, &baseline).empty());
  SECTION("all, where its own are clean") {
    run.scaling->basis = RatioBasis::all_rounds;
    CHECK(rounds_text(run, &baseline) == "all 3 rounds");
    ResultFile file;
    file.runs = {baseline, run};
    CHECK_THAT(scaling_lines(file).at(0), Contains("speedup and efficiency rest on all 3 rounds") &&
                                              Contains("samples/s on its 3 clean repetitions"));
  }
  SECTION("fewer than it has") {
    run.samples.repetitions.push_back(run.samples.repetitions.back());
    CHECK(rounds_text(run, &baseline) == "3 clean rounds");
  }
  SECTION("fewer than its baseline has") {
    RunRecord longer = baseline;
    longer.samples.repetitions.push_back(longer.samples.repetitions.back());
    CHECK(rounds_text(run, &longer) == "3 clean rounds");
    CHECK(rounds_text(run, nullptr).empty());
  }
}

TEST_CASE("fewer than three clean repetitions tell no cause", "[reports]") {
  RunRecord run = ddp(mostly(&ScalingLossRecord::communication));
  CHECK_THAT(line_of(run), Contains("most of it"));
  add_repetitions(run, 2);
  CHECK(line_of(run) ==
        "ddp n2: efficiency 92.0 %; too few clean repetitions of it and its baseline to say why "
        "(2, 3 are needed)");
  add_repetitions(run, 3);
  ResultFile file;
  file.runs = {baseline_of(1), run};
  CHECK_THAT(scaling_lines(file).at(0), Contains("to say why (1, 3 are needed)"));
  file.runs = {run};
  CHECK_THAT(scaling_lines(file).at(0), Contains("to say why (0, 3 are needed)"));
}

TEST_CASE("serial training on all cores that is faster than ranks is told first", "[reports]") {
  ResultFile file;
  RunRecord all = baseline_of();
  all.id = "mlp/serial/n1/b128/fp32/threads=2";
  all.strategy.threads = 2;
  all.throughput.value = 2300;
  all.throughput.ci95 = Interval{.low = 2280, .high = 2320};
  RunRecord run = ddp(mostly(&ScalingLossRecord::communication));
  run.scaling->all_cores = all.id;
  run.scaling->efficiency_vs_all_cores = 0.8;
  run.scaling->efficiency_vs_all_cores_ci95 = Interval{.low = 0.78, .high = 0.82};
  RunRecord slower = run_of("dp", 2, 1.5);
  slower.scaling->all_cores = all.id;
  slower.scaling->efficiency_vs_all_cores = 0.7;
  file.runs = {baseline_of(), slower, run, all};
  Lines lines = scaling_lines(file);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] ==
        "mlp/serial/n1/b128/fp32/threads=2 is 1.25 ± 0.03 times as fast as ddp n2, the fastest on "
        "several ranks: first try --strategy serial --threads 2");
  CHECK(all_cores_text(run) == "80.0 ± 2.0 %");
  SECTION("not where ranks may be as fast") {
    file.runs[2].scaling->efficiency_vs_all_cores_ci95->high = 1.01;
  }
  SECTION("not where another run is the fastest") {
    file.runs.push_back(run_of("amp", 1, 3));
    file.runs.back().scaling.reset();
  }
  SECTION("not without an interval") { file.runs[2].scaling->efficiency_vs_all_cores_ci95.reset(); }
  SECTION("not by fewer than three clean repetitions") { add_repetitions(file.runs[3], 2); }
  lines = scaling_lines(file);
  CHECK(lines.size() == 2);
}

TEST_CASE("a family is told by its largest run, and by its serial fraction", "[reports]") {
  ResultFile file;
  file.runs = {run_of("serial", 1, 1), run_of("ddp", 4, 3.7),    run_of("ddp", 2, 1.9),
               run_of("ddp", 3, 2.8),  run_of("ddp-flat", 2, 1), run_of("ddp-flat", 1, 1)};
  const Lines lines = scaling_lines(file);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "ddp n4: 7.5 % lost; it is not known where, because there are no phases");
  CHECK_THAT(lines[1],
             Catch::StartsWith("ddp: serial fraction 10.0 % (95 %: ") &&
                 Catch::EndsWith("; Gustafson): each further rank adds 0.9 to the speedup"));
  CHECK(lines[2] == "ddp-flat n2: 50.0 % lost; it is not known where, because there are no phases");
}

TEST_CASE("Amdahl's law says how much can be gained, from three numbers of ranks on", "[reports]") {
  ResultFile file;
  file.runs = {baseline_of(), run_of("ddp", 1, 1), run_of("ddp", 2, 1 / 0.55),
               run_of("ddp", 4, 1 / 0.325)};
  const auto set = [&](double one, double two, double four) {
    file.runs[1].scaling = scaling_of(one, 1);
    file.runs[2].scaling = scaling_of(two, 2);
    file.runs[3].scaling = scaling_of(four, 4);
    for (std::size_t at = 1; at < 4; ++at) file.runs[at].scaling->mode = ScalingMode::strong;
  };
  set(1, 1 / 0.55, 1 / 0.325);
  CHECK_THAT(scaling_lines(file).at(1), Catch::StartsWith("ddp: serial fraction 10.0 % (95 %: ") &&
                                            Contains("; Amdahl), which allows a speedup of at most "
                                                     "10 (95 %: "));
  set(0.9, 0.9 / 0.55, 0.9 / 0.325);
  CHECK_THAT(scaling_lines(file).at(1), Contains("a speedup of at most 9 (95 %: "));
  set(1, 1.99, 3.96);
  CHECK_THAT(scaling_lines(file).at(1), Contains(" or more)"));
  set(1, 2.5, 5);
  CHECK_THAT(scaling_lines(file).at(1), Contains("does not limit the speedup"));
  set(1, 0.5, 0.3);
  CHECK_THAT(scaling_lines(file).at(1), Contains("bring nothing"));
}

TEST_CASE("two numbers of ranks tell no serial fraction, nor do disturbed runs", "[reports]") {
  ResultFile file;
  file.runs = {baseline_of(), run_of("ddp", 1, 1), run_of("ddp", 2, 1.9), run_of("ddp", 4, 3.7)};
  REQUIRE(scaling_lines(file).size() == 2);
  SECTION("two are a line through two points") { file.runs.pop_back(); }
  SECTION("a disturbed run does not count") { add_repetitions(file.runs[2], 2); }
  SECTION("nor does a disturbed baseline") { add_repetitions(file.runs[0], 2); }
  CHECK(scaling_lines(file).size() == 1);
}

TEST_CASE("families of one strategy are told apart by their ids", "[reports]") {
  ResultFile file;
  file.runs = {run_of("ddp", 2, 1.9), run_of("ddp", 2, 1.8)};
  file.runs[1].scaling->baseline = "linear/serial/n1/b64/fp32";
  file.runs[1].id = "linear/ddp/n2/b64/fp32";
  file.runs.push_back(baseline_of());
  file.runs.push_back(baseline_of());
  file.runs[3].id = "linear/serial/n1/b64/fp32";
  const Lines lines = scaling_lines(file);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Catch::StartsWith("mlp/ddp/n2/b64/fp32: 5.0 % lost"));
  CHECK_THAT(lines[1], Catch::StartsWith("linear/ddp/n2/b64/fp32: 10.0 % lost"));
}

TEST_CASE("an efficiency is shown with its interval", "[reports]") {
  RunRecord run = run_of("ddp", 2, 1.8);
  CHECK(efficiency_text(run) == "90.0 %");
  run.scaling->efficiency_ci95 = Interval{.low = 0.888, .high = 0.914};
  CHECK(efficiency_text(run) == "90.0 ± 1.3 %");
  run.scaling->efficiency.reset();
  CHECK(efficiency_text(run).empty());
  CHECK(efficiency_text(RunRecord{}).empty());
}

}  // namespace ptbench
