#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "src/judge/counterpart_ratio.h"
#include "src/measure/precision_warning.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

const PriorNoise kFreshPrior;
const std::vector<double> kShort{0.0060, 0.0061, 0.0062, 0.0061, 0.0060};
const std::vector<double> kLong{0.0084, 0.0083, 0.0084, 0.0085, 0.0084};

/// A run of `mlp` with steps of these medians, one a repetition.
RunRecord run_of(const std::string& strategy, const std::string& precision,
                 const std::vector<double>& medians, const std::string& options = "") {
  RunRecord run;
  run.workload.name = "mlp";
  run.id = "mlp/" + strategy + "/n1/b128/" + precision + options;
  run.strategy.name = strategy;
  run.strategy.precision = precision;
  run.strategy.world_size = 1;
  run.strategy.batch_per_replica = 128;
  run.strategy.global_batch = 128;
  for (const double median : medians)
    run.samples.repetitions.push_back(
        {.median_seconds = median, .placement = "near", .clean_slices = 1});
  summarize_run(run, kFreshPrior);
  return run;
}

WarningRecord seemed_slower() { return slower_than_fp32({}, false, "it seemed so"); }

/// What each run is warned of, once they have been compared.
std::vector<std::vector<WarningRecord>> warnings_of(std::vector<RunRecord> runs) {
  for (RunRecord& run : runs)
    std::erase_if(run.warnings,
                  [](const WarningRecord& warning) { return warning.code != "slower-than-fp32"; });
  add_precision_warnings(runs, kFreshPrior);
  std::vector<std::vector<WarningRecord>> warnings;
  for (const RunRecord& run : runs) warnings.push_back(run.warnings);
  return warnings;
}

}  // namespace

TEST_CASE("amp that takes longer than serial training in fp32 says so", "[judge]") {
  const auto warnings = warnings_of({run_of("serial", "fp32", kShort), run_of("amp", "bf16", kLong),
                                     run_of("serial", "bf16", kLong)});
  CHECK(warnings[0].empty());
  for (const std::size_t narrow : {1U, 2U}) {
    REQUIRE(warnings[narrow].size() == 1);
    const WarningRecord& warning = warnings[narrow].front();
    CHECK(warning.message.starts_with("a step in bf16 takes 1.3"));
    CHECK_THAT(warning.message, Catch::Contains("as long as in fp32 ('mlp/serial/n1/b128/fp32')"));
  }
  CHECK(warnings[1].front().remedy == "Train with -s serial on this machine.");
  CHECK(warnings[2].front().remedy == "Train with --precision fp32 on this machine.");
}

TEST_CASE("nothing is said of bf16 that pays, or that noise does not tell from fp32", "[judge]") {
  CHECK(warnings_of({run_of("serial", "fp32", kLong), run_of("amp", "bf16", kShort)})[1].empty());
  const std::vector<double> noisy{0.0050, 0.0090, 0.0062, 0.0110, 0.0055};
  CHECK(warnings_of({run_of("serial", "fp32", kShort), run_of("amp", "bf16", noisy)})[1].empty());
  // Two repetitions have no interval.
  const std::vector<double> few{0.0084, 0.0084};
  CHECK(warnings_of({run_of("serial", "fp32", kShort), run_of("amp", "bf16", few)})[1].empty());
}

TEST_CASE("runs in bf16 and fp32 are compared only if they are alike otherwise", "[judge]") {
  const RunRecord fp32 = run_of("serial", "fp32", kShort);
  CHECK(warnings_of({fp32, run_of("ddp", "bf16", kLong)})[1].empty());
  CHECK(warnings_of({fp32, run_of("amp", "bf16", kLong, "/optimizer=adam")})[1].empty());
  RunRecord threads = run_of("amp", "bf16", kLong);
  threads.strategy.threads = 2;
  CHECK(warnings_of({fp32, threads})[1].empty());
  RunRecord batch = run_of("amp", "bf16", kLong);
  batch.strategy.global_batch = 256;
  CHECK(warnings_of({fp32, batch})[1].empty());
  RunRecord failed = fp32;
  failed.status = Status::failed;
  CHECK(warnings_of({failed, run_of("amp", "bf16", kLong)})[1].empty());
}

TEST_CASE("what was measured replaces what a run found of its precision by itself", "[judge]") {
  RunRecord faster = run_of("amp", "bf16", kShort);
  faster.warnings.push_back(seemed_slower());
  CHECK(warnings_of({run_of("serial", "fp32", kLong), faster})[1].empty());
  RunRecord slower = run_of("amp", "bf16", kLong);
  slower.warnings.push_back(seemed_slower());
  const auto warnings = warnings_of({run_of("serial", "fp32", kShort), slower});
  REQUIRE(warnings[1].size() == 1);
  CHECK(warnings[1].front().message != "it seemed so");
  // Alone it stays.
  CHECK(warnings_of({slower})[0].size() == 1);
}

}  // namespace ptbench
