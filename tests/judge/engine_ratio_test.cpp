#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "src/judge/counterpart_ratio.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

const PriorNoise kFreshPrior;

/// A run of ptbench with steps of these medians, one a repetition, each of the set of its round
/// where there are sets.
RunRecord timed_run(const std::string& id, const std::vector<double>& medians,
                    bool in_turns = false) {
  RunRecord run;
  run.id = id;
  run.strategy.world_size = 1;
  run.strategy.global_batch = 64;
  for (std::size_t round = 0; round < medians.size(); ++round) {
    run.samples.repetitions.push_back(
        {.median_seconds = medians[round], .placement = "near", .clean_slices = 1});
    if (in_turns) run.samples.repetitions.back().lockstep = "set-" + std::to_string(round);
  }
  summarize_run(run, kFreshPrior);
  return run;
}

std::vector<RunRecord> set_beside(std::vector<RunRecord> runs) {
  std::vector<EnginePlan> plans(runs.size(), {.reference = runs.front().id});
  plans.front().reference.clear();
  add_engine_ratios(runs, plans, kFreshPrior);
  return runs;
}

const std::vector<double> kOwnTimes(5, 0.01);
const std::vector<double> kOtherTimes(5, 0.015);

}  // namespace

TEST_CASE("a run of another engine is set beside the first engine's", "[judge]") {
  const auto runs =
      set_beside({timed_run("x", kOwnTimes), timed_run("x/engine=pytorch", kOtherTimes)});
  CHECK_FALSE(runs[0].versus);
  const VersusRecord& versus = runs[1].versus.value();
  CHECK(versus.run == "x");
  CHECK(versus.step_time_ratio.value() == Approx(1.5));
  const Interval interval = versus.step_time_ratio_ci95.value();
  CHECK(interval.low < 1.5);
  CHECK(interval.high > 1.5);
  CHECK(std::sqrt(interval.low * interval.high) == Approx(1.5));
}

TEST_CASE("engines that took turns are compared round by round", "[judge]") {
  // The machine halves its pace in the middle, for both.
  const std::vector<double> own{0.010, 0.010, 0.020, 0.020, 0.010};
  const std::vector<double> other{0.015, 0.015, 0.030, 0.030, 0.015};
  const auto apart = set_beside({timed_run("x", own), timed_run("x/engine=pytorch", other)});
  const auto turns =
      set_beside({timed_run("x", own, true), timed_run("x/engine=pytorch", other, true)});
  const auto width = [](const RunRecord& run) {
    const Interval interval = run.versus.value().step_time_ratio_ci95.value();
    return interval.high - interval.low;
  };
  CHECK(turns[1].versus.value().step_time_ratio.value() == Approx(1.5));
  CHECK(width(turns[1]) < width(apart[1]) / 10);
  CHECK(turns[1].versus.value().pairs_in_turns == 5);
  CHECK(apart[1].versus.value().pairs_in_turns == 0);
}

TEST_CASE("near and far are not mixed in a ratio of engines", "[judge]") {
  std::vector<RunRecord> runs{timed_run("x", {0.01, 0.01, 0.01, 0.01, 0.01}, true),
                              timed_run("y", {0.015, 0.015, 0.015, 0.03, 0.03}, true)};
  SECTION("where both were far, in fewer rounds") {
    for (RunRecord& run : runs)
      for (const std::size_t round : {3U, 4U}) run.samples.repetitions[round].placement = "far";
  }
  SECTION("where one was far") {
    for (const std::size_t round : {3U, 4U}) runs[1].samples.repetitions[round].placement = "far";
  }
  runs = set_beside(std::move(runs));
  CHECK(runs[1].versus.value().pairs_in_turns == 3);
  CHECK(runs[1].versus.value().step_time_ratio.value() == Approx(1.5));
}

TEST_CASE("an engine whose counterpart has no times is compared with nothing", "[judge]") {
  std::vector<RunRecord> runs{timed_run("x", kOwnTimes),
                              timed_run("x/engine=pytorch", kOtherTimes)};
  SECTION("as it failed") { runs[0].status = Status::failed; }
  SECTION("as the run itself did") { runs[1].status = Status::failed; }
  SECTION("as it was not measured") { runs.erase(runs.begin()); }
  runs.back().versus.emplace().step_time_ratio = 7;
  std::vector<EnginePlan> plans(runs.size());
  plans.back().reference = "x";
  add_engine_ratios(runs, plans, kFreshPrior);
  CHECK_FALSE(runs.back().versus);
}

TEST_CASE("another engine has a ratio once it is known to train the same", "[judge]") {
  std::vector<RunRecord> runs{timed_run("x", kOwnTimes), timed_run("y", kOtherTimes)};
  RunRecord& peer = runs[GENERATE(0U, 1U)];
  peer.engine.name = "pytorch";
  CHECK_FALSE(set_beside(runs)[1].versus);
  peer.verification.status = VerificationStatus::passed;
  CHECK(set_beside(runs)[1].versus);
}

TEST_CASE("two repetitions have a ratio and no interval", "[judge]") {
  const auto runs = set_beside({timed_run("x", {0.01, 0.01}), timed_run("y", {0.02, 0.02})});
  CHECK(runs[1].versus.value().step_time_ratio.value() == Approx(2));
  CHECK_FALSE(runs[1].versus.value().step_time_ratio_ci95);
}

}  // namespace ptbench
