#include "src/judge/ranking.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

/// Five clean repetitions that scatter by `noise`, in an interval of as much.
RunRecord run_of(const std::string& strategy, Size ranks, double throughput, double noise = 0.01) {
  RunRecord run;
  run.id = "mlp/" + strategy + "/n" + std::to_string(ranks) + "/b64/fp32";
  run.strategy.name = strategy;
  run.strategy.world_size = ranks;
  run.throughput.value = throughput;
  run.throughput.ci95 = Interval{throughput * (1 - noise), throughput * (1 + noise)};
  for (const double deviation : {-1.0, -0.5, 0.0, 0.5, 1.0})
    run.samples.repetitions.push_back({.median_seconds = 64 / throughput * (1 + deviation * noise),
                                       .placement = "near",
                                       .clean_slices = 2});
  return run;
}

RunRecord scaled(RunRecord run, const RunRecord& baseline, double speedup, double half_width) {
  run.scaling.emplace();
  run.scaling->baseline = baseline.id;
  run.scaling->speedup = speedup;
  const auto ranks = static_cast<double>(run.strategy.world_size);
  run.scaling->efficiency = speedup / ranks;
  run.scaling->efficiency_ci95 =
      Interval{(speedup - half_width) / ranks, (speedup + half_width) / ranks};
  return run;
}

void disturb(RunRecord& run) {
  for (RepetitionRecord& repetition : run.samples.repetitions) repetition.clean_slices = 0;
}

Ranking ranking(const std::vector<RunRecord>& runs) {
  std::vector<const RunRecord*> pointers;
  for (const RunRecord& run : runs) pointers.push_back(&run);
  return ranking_of(pointers);
}

}  // namespace

TEST_CASE("the fastest run is the one with the highest throughput that is known", "[judge]") {
  std::vector<RunRecord> runs{run_of("serial", 1, 10'000), run_of("amp", 1, 20'000),
                              run_of("dp", 2, 30'000), run_of("ddp", 2, 40'000)};
  disturb(runs[2]);
  runs[3].verification.status = VerificationStatus::failed;
  const Ranking found = ranking(runs);
  CHECK(found.fastest() == &runs[1]);
  CHECK(found.runs == std::vector<const RunRecord*>{&runs[1], &runs[0], &runs[2]});
  CHECK(found.compared == 2);
  CHECK(found.rivals.empty());
  CHECK(found.find(runs[0].id) == &runs[0]);
  CHECK(found.find(std::nullopt) == nullptr);
}

TEST_CASE("no run is the fastest where none is known", "[judge]") {
  std::vector<RunRecord> runs{run_of("serial", 1, 10'000), run_of("ddp", 2, 20'000)};
  for (RunRecord& run : runs) disturb(run);
  CHECK(ranking(runs).fastest() == nullptr);
  CHECK(ranking({}).fastest() == nullptr);
}

TEST_CASE("runs within the noise of the fastest are its rivals", "[judge]") {
  const std::vector<RunRecord> runs{run_of("serial", 1, 10'000, 0.04),
                                    run_of("amp", 1, 10'100, 0.04),
                                    run_of("grad-accum", 1, 5'000, 0.04)};
  const Ranking found = ranking(runs);
  CHECK(found.fastest() == &runs[1]);
  CHECK(found.rivals == std::vector<const RunRecord*>{&runs[0]});
  CHECK(found.is_rival(&runs[0]));
  CHECK_FALSE(found.is_rival(&runs[2]));
}

TEST_CASE("a ratio is that of the record, wherever it is asked for", "[judge]") {
  const RunRecord serial = run_of("serial", 1, 10'000);
  RunRecord ddp = scaled(run_of("ddp", 2, 19'000), serial, 1.74, 0.6);
  CHECK(speed_ratio(ddp, serial).value == 1.74);
  CHECK(speed_ratio(ddp, serial).interval->low == Approx(1.14));
  CHECK(speed_ratio(ddp, serial).is_told());
  const SpeedRatio back = speed_ratio(serial, ddp);
  CHECK(back.value == Approx(1 / 1.74));
  CHECK(back.interval->low == Approx(1 / 2.34));
  CHECK(back.interval->high == Approx(1 / 1.14));
  ddp.scaling->efficiency_ci95 = Interval{0.425, 1.78};
  CHECK_FALSE(speed_ratio(ddp, serial).is_told());
  ddp.scaling->efficiency_ci95.reset();
  CHECK_FALSE(speed_ratio(ddp, serial).is_told());
  const RunRecord dp = run_of("dp", 2, 9'500);
  CHECK(speed_ratio(ddp, dp).value == Approx(2));
  CHECK(speed_ratio(ddp, dp).is_told());
}

TEST_CASE("of several ranks that run is told of which a speedup is known", "[judge]") {
  const RunRecord serial = run_of("serial", 1, 10'000);
  std::vector<RunRecord> runs{serial, scaled(run_of("dp", 2, 15'000), serial, 1.5, 0.1),
                              scaled(run_of("ddp", 2, 18'000), serial, 1.8, 0.1)};
  CHECK(fastest_on_ranks(ranking(runs)) == &runs[2]);
  CHECK(is_speedup_told(ranking(runs), runs[2]));
  SECTION("the next one, where the fastest has no interval") {
    runs[2].scaling->efficiency_ci95.reset();
    CHECK(fastest_on_ranks(ranking(runs)) == &runs[1]);
  }
  SECTION("the fastest all the same, where none is told") {
    disturb(runs[0]);
    CHECK(fastest_on_ranks(ranking(runs)) == &runs[2]);
    CHECK_FALSE(is_speedup_told(ranking(runs), runs[2]));
  }
  SECTION("none, where none was held against serial") {
    for (RunRecord& run : runs) run.scaling.reset();
    CHECK(fastest_on_ranks(ranking(runs)) == nullptr);
  }
}

}  // namespace ptbench
