#include "src/judge/scaling.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "src/judge/scaling_loss.h"
#include "src/measure/repetition.h"
#include "src/measure/repetition_times.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

using Catch::Contains;

constexpr double kExact = 1e-12;
const PriorNoise kPrior;

/// Runs that agree on everything but what they are made of.
struct Made {
  std::string strategy = "ddp";
  Size ranks = 1;
  Size batch = 64;  ///< of a replica
  std::vector<double> medians = {0.01, 0.01, 0.01};
  std::string placement = "near";
  Size clean_slices = 1;
};

std::string id_of(const Made& made) {
  return "mlp/" + made.strategy + "/n" + std::to_string(made.ranks) + "/b" +
         std::to_string(made.batch) + "/fp32";
}

RunRecord run_made(const Made& made) {
  RunRecord run;
  run.id = id_of(made);
  run.workload.name = "mlp";
  run.strategy.name = made.strategy;
  run.strategy.world_size = made.ranks;
  run.strategy.batch_per_replica = made.batch;
  run.strategy.global_batch = made.batch * made.ranks;
  for (const double median : made.medians)
    run.samples.repetitions.push_back(
        {.median_seconds = median, .placement = made.placement, .clean_slices = made.clean_slices});
  summarize_run(run, kPrior);
  return run;
}

RunRecord serial(const std::vector<double>& medians = {0.01, 0.01, 0.01}, Size batch = 64) {
  return run_made({.strategy = "serial", .batch = batch, .medians = medians});
}

RankRecord rank_of(Size rank, double compute, double wait) {
  return {.rank = rank,
          .host = "here",
          .device = "cpu",
          .compute_seconds = compute,
          .wait_seconds = wait};
}

std::vector<std::optional<ScalingPlan>> plans_for(const std::vector<RunRecord>& runs,
                                                  ScalingMode mode, const std::string& baseline,
                                                  bool in_rounds = false) {
  std::vector<std::optional<ScalingPlan>> plans;
  for (const RunRecord& run : runs) {
    Made one{.strategy = run.strategy.name};
    if (mode == ScalingMode::strong) one.batch = run.strategy.global_batch.value_or(0);
    plans.emplace_back(ScalingPlan{
        .mode = mode, .baseline = baseline, .one_rank = id_of(one), .in_rounds = in_rounds});
  }
  return plans;
}

std::vector<RunRecord> compared(std::vector<RunRecord> runs, ScalingMode mode = ScalingMode::weak,
                                bool in_rounds = false) {
  const auto plans = plans_for(runs, mode, runs.front().id, in_rounds);
  add_scaling(runs, plans, kPrior);
  return runs;
}

double sum_of(const ScalingLossRecord& loss) {
  return loss.compute_slowdown.value() + loss.batch_effect.value_or(0) +
         loss.communication.value() + loss.wait.value() + loss.data.value() + loss.overhead.value();
}

/// A serial step of 10 ms, and one of ddp on 2 ranks of 12.5 ms for the same work per rank; the
/// pass of the latter took twice as long.
RunRecord timed_serial() {
  RunRecord run = serial();
  run.phases_seconds = {
      .data = 0.001, .forward = 0.003, .backward = 0.004, .optimizer = 0.0015, .other = 0.0005};
  return run;
}

RunRecord timed_ddp(Size batch = 64) {
  RunRecord run = run_made({.ranks = 2, .batch = batch, .medians = std::vector<double>(3, 0.0125)});
  run.phases_seconds = {.data = 0.0024,
                        .forward = 0.0062,
                        .backward = 0.0086,
                        .communication = 0.006,
                        .communication_exposed = 0.0036,
                        .optimizer = 0.0032,
                        .other = 0.001};
  run.ranks = {rank_of(0, 0.0148, 0.0016), rank_of(1, 0.0164, 0.0001)};
  return run;
}

}  // namespace

TEST_CASE("weak scaling compares throughput with that of one replica", "[measure]") {
  const auto runs =
      compared({serial(), run_made({.ranks = 2, .medians = std::vector<double>(3, 0.0125)})});
  const ScalingRecord& scaling = runs[1].scaling.value();
  CHECK(scaling.mode == ScalingMode::weak);
  CHECK(scaling.baseline == runs[0].id);
  CHECK(scaling.speedup.value() == Approx(1.6).epsilon(kExact));
  CHECK(scaling.efficiency.value() == Approx(0.8).epsilon(kExact));
  CHECK_FALSE(scaling.efficiency_vs_one_rank);
  CHECK_FALSE(scaling.loss.overhead);
}

TEST_CASE("strong scaling compares throughput for the same global batch", "[measure]") {
  const auto runs = compared(
      {serial(), run_made({.ranks = 2, .batch = 32, .medians = std::vector<double>(3, 0.00625)})},
      ScalingMode::strong);
  CHECK(runs[1].scaling.value().speedup.value() == Approx(1.6).epsilon(kExact));
  CHECK(runs[1].scaling.value().efficiency.value() == Approx(0.8).epsilon(kExact));
}

TEST_CASE("a baseline is as fast as itself, and lost nothing", "[measure]") {
  const auto runs = compared({timed_serial()});
  const ScalingRecord& scaling = runs[0].scaling.value();
  CHECK(scaling.speedup == 1);
  CHECK(scaling.efficiency == 1);
  CHECK(scaling.efficiency_vs_one_rank == 1);
  CHECK_FALSE(scaling.efficiency_ci95);
  CHECK_FALSE(scaling.loss.compute_slowdown);
  CHECK_FALSE(scaling.loss.overhead);
}

TEST_CASE("a strategy is compared with its own single rank, where that was measured", "[measure]") {
  const auto runs = compared({serial(), run_made({.medians = std::vector<double>(3, 0.0102)}),
                              run_made({.ranks = 4, .medians = std::vector<double>(3, 0.0136)})});
  CHECK(runs[1].scaling.value().efficiency_vs_one_rank == 1);
  CHECK(runs[2].scaling.value().efficiency.value() == Approx(0.01 / 0.0136).epsilon(kExact));
  CHECK(runs[2].scaling.value().efficiency_vs_one_rank.value() == Approx(0.75).epsilon(kExact));
}

TEST_CASE("runs that were not measured whole have no scaling", "[measure]") {
  std::vector<RunRecord> runs{serial(), run_made({.ranks = 2}), run_made({.ranks = 4})};
  runs[1].status = Status::interrupted;
  runs[2].throughput = {};
  for (const RunRecord& run : {compared(runs)[1], compared(runs)[2]}) {
    CHECK_FALSE(run.scaling);
    CHECK(run.warnings.empty());
  }
}

TEST_CASE("a run without its baseline says so, until there is one", "[measure]") {
  std::vector<RunRecord> runs{serial(), run_made({.ranks = 2})};
  runs[1].scaling.emplace();
  runs[0].status = Status::failed;
  runs[0].reason = "it ran out of memory";
  const auto plans = plans_for(runs, ScalingMode::weak, runs[0].id);
  for (int time = 0; time < 2; ++time) {
    add_scaling(runs, plans, kPrior);
    CHECK_FALSE(runs[1].scaling);
    REQUIRE(runs[1].warnings.size() == 1);
    CHECK(runs[1].warnings[0].code == "no-baseline");
    CHECK_THAT(runs[1].warnings[0].message,
               Contains("mlp/serial/n1/b64/fp32' is failed: it ran out of memory"));
    CHECK(runs[0].warnings.empty());
  }
  add_scaling(std::span(runs).subspan(1), std::span(plans).subspan(1), kPrior);
  CHECK_THAT(runs[1].warnings.at(0).message, Contains("was not measured"));
  runs[0].status = Status::ok;
  add_scaling(runs, plans, kPrior);
  CHECK(runs[1].scaling);
  CHECK(runs[1].warnings.empty());
}

TEST_CASE("a run that is compared with nothing has no scaling", "[measure]") {
  std::vector<RunRecord> runs = compared({serial(), run_made({.ranks = 2})});
  add_scaling(runs, std::vector<std::optional<ScalingPlan>>(2), kPrior);
  CHECK_FALSE(runs[0].scaling);
  CHECK_FALSE(runs[1].scaling);
}

TEST_CASE("the interval of an efficiency holds it in its middle", "[measure]") {
  const std::vector<double> base{0.0100, 0.0101, 0.0102, 0.0101, 0.0100};
  const std::vector<double> slower{0.0126, 0.0124, 0.0125, 0.0127, 0.0125};
  const auto runs = compared({serial(base), run_made({.ranks = 2, .medians = slower})});
  const ScalingRecord& scaling = runs[1].scaling.value();
  const Interval interval = scaling.efficiency_ci95.value();
  CHECK(std::sqrt(interval.low * interval.high) == Approx(scaling.efficiency.value()));
  const double half = std::log(interval.high / *scaling.efficiency);
  // Both deviations are about the prior's 1 %, with 14 degrees of freedom each: t is near 2.05.
  CHECK(half == Approx(2.05 * 0.0092 * std::sqrt(2.0 / 5)).epsilon(0.05));
}

TEST_CASE("an interval needs three repetitions on both sides", "[measure]") {
  const std::vector<double> two(2, 0.01);
  const auto few = compared({serial(two), run_made({.ranks = 2})});
  CHECK_FALSE(few[1].scaling.value().efficiency_ci95);
  const auto fewer = compared({serial(), run_made({.ranks = 2, .medians = two})});
  CHECK_FALSE(fewer[1].scaling.value().efficiency_ci95);
}

TEST_CASE("a serial run on one core has an interval beside ranks on two", "[measure]") {
  RunRecord base = serial();
  for (RepetitionRecord& repetition : base.samples.repetitions) repetition.placement.reset();
  CHECK(compared({base, run_made({.ranks = 2})})[1].scaling.value().efficiency_ci95);
}

TEST_CASE("repetitions that are not clean have an interval of their own spread", "[measure]") {
  const auto runs = compared({run_made({.strategy = "serial", .clean_slices = 0}),
                              run_made({.ranks = 2, .clean_slices = 0})});
  const Interval interval = runs[1].scaling.value().efficiency_ci95.value();
  CHECK(interval.low == interval.high);
}

TEST_CASE("what slows a whole round down does not widen the interval", "[measure]") {
  const std::vector<double> base{0.0100, 0.0130, 0.0110, 0.0150, 0.0120};
  std::vector<double> doubled;
  for (const double median : base) doubled.push_back(1.25 * median);
  const auto width = [&](bool in_rounds) {
    const auto runs = compared({serial(base), run_made({.ranks = 2, .medians = doubled})},
                               ScalingMode::weak, in_rounds);
    const Interval interval = runs[1].scaling.value().efficiency_ci95.value();
    return interval.high - interval.low;
  };
  CHECK(width(true) < width(false) / 5);
}

TEST_CASE("rounds are not paired where other ones speak for the baseline", "[measure]") {
  const std::vector<double> base{0.0100, 0.0130, 0.0110, 0.0150, 0.0120};
  RunRecord ddp = run_made({.ranks = 2, .medians = base});
  RunRecord other = serial(base);
  other.samples.repetitions[4].clean_slices = 0;
  ddp.samples.repetitions[0].clean_slices = 0;
  const auto paired = compared({other, ddp}, ScalingMode::weak, true);
  const auto unpaired = compared({other, ddp}, ScalingMode::weak, false);
  CHECK(paired[1].scaling.value().efficiency_ci95.value().low ==
        unpaired[1].scaling.value().efficiency_ci95.value().low);
}

TEST_CASE("repetitions that took turns are compared with each other, whatever else was measured",
          "[measure]") {
  // Three repetitions are enough for it, correlated or not, in whatever order they come.
  const std::vector<double> base{0.0100, 0.0130, 0.0150, 0.0110};
  const std::vector<double> longer{1.25 * 0.0150, 1.25 * 0.0100, 1.25 * 0.0130};
  const auto scaled = [&](const std::vector<std::string>& base_sets,
                          const std::vector<std::string>& sets) {
    std::vector<RunRecord> runs{serial(base), run_made({.ranks = 2, .medians = longer})};
    for (std::size_t at = 0; at < base_sets.size(); ++at)
      runs[0].samples.repetitions[at].lockstep = base_sets[at];
    for (std::size_t at = 0; at < sets.size(); ++at)
      runs[1].samples.repetitions[at].lockstep = sets[at];
    return compared(runs)[1].scaling.value();
  };
  const auto width = [](const ScalingRecord& scaling) {
    return std::log(scaling.efficiency_ci95.value().high / scaling.efficiency_ci95.value().low);
  };
  const ScalingRecord apart = scaled({}, {});
  const ScalingRecord in_turns = scaled({"a", "b", "c", "d"}, {"c", "a", "b"});
  CHECK(width(in_turns) < 0.2 * width(apart));
  CHECK(in_turns.speedup.value() == Approx(2 / 1.25));
  CHECK(apart.speedup.value() != Approx(2 / 1.25));
  const ScalingRecord two = scaled({"a", "b", "c", "d"}, {"c", "a", "e"});
  CHECK(width(two) == width(apart));
  CHECK(two.speedup == apart.speedup);
}

namespace {

/// A round of a run.
struct RoundMade {
  std::vector<double> steps;         ///< of a slice each, in seconds; ten samples
  std::optional<bool> clean = true;  ///< whether the slices are
  bool only_first = false;           ///< or just the first of them
};

/// Took turns in rounds of the same number.
RunRecord run_in_rounds(Made made, const std::vector<RoundMade>& rounds) {
  made.medians.clear();
  RunRecord run = run_made(made);
  SamplesRecord& samples = run.samples;
  samples.steps_per_sample = 1;
  for (const RoundMade& round : rounds) {
    SamplesRecord process;
    for (const double step : round.steps) {
      process.slices.push_back({.first = std::ssize(process.step_seconds),
                                .count = 10,
                                .clean = round.only_first && step != round.steps.front()
                                             ? std::optional(false)
                                             : round.clean,
                                .median_seconds = step,
                                .placement = made.placement,
                                .steal_fraction = {}});
      process.step_seconds.insert(process.step_seconds.end(), 10, step);
    }
    RepetitionRecord repetition = repetition_of(process.slices);
    repetition.lockstep = "set-" + std::to_string(samples.repetitions.size());
    for (SliceRecord& slice : process.slices) {
      slice.repetition = std::ssize(samples.repetitions);
      slice.first += std::ssize(samples.step_seconds);
      samples.slices.push_back(slice);
    }
    samples.step_seconds.insert(samples.step_seconds.end(), process.step_seconds.begin(),
                                process.step_seconds.end());
    samples.repetitions.push_back(repetition);
  }
  keep_means(samples);
  summarize_run(run, kPrior);
  return run;
}

/// What a reader makes of two rows.
double ratio_of_throughputs(const std::vector<RunRecord>& runs) {
  return runs[1].throughput.value.value() / runs[0].throughput.value.value();
}

const Made kSerial{.strategy = "serial"};
const Made kDdp{.ranks = 2};

}  // namespace

TEST_CASE("the speedup of a row is that of the throughputs shown", "[measure]") {
  // Steps of serial and of ddp, whose rounds have unlike speeds.
  std::vector<RoundMade> of_serial{{{0.010, 0.011}}, {{0.013, 0.012}}, {{0.015}}, {{0.011}}};
  std::vector<RoundMade> of_ddp{{{0.012, 0.014}}, {{0.016, 0.015}}, {{0.019}}, {{0.013}}};
  const auto scaled = [&] {
    return compared({run_in_rounds(kSerial, of_serial), run_in_rounds(kDdp, of_ddp)});
  };
  const auto make_unclean = [](std::vector<RoundMade>& rounds, std::size_t from) {
    for (std::size_t at = from; at < rounds.size(); ++at) rounds[at].clean = false;
  };
  RatioBasis basis = RatioBasis::all_rounds;
  SECTION("over clean rounds") { basis = RatioBasis::clean_rounds; }
  SECTION("over all rounds, where none is clean") {
    make_unclean(of_serial, 0);
    make_unclean(of_ddp, 0);
  }
  SECTION("over all rounds, where too few of both are clean") {
    make_unclean(of_serial, 2);
    make_unclean(of_ddp, 1);
  }
  SECTION("over all rounds, where one lucky slice is clean") {
    make_unclean(of_serial, 1);
    make_unclean(of_ddp, 1);
    of_ddp[0] = {.steps = {0.004, 0.03, 0.03}, .only_first = true};
  }
  SECTION("over all rounds, where nobody knows what is clean") {
    for (RoundMade& round : of_serial) round.clean.reset();
    for (RoundMade& round : of_ddp) round.clean.reset();
  }
  const std::vector<RunRecord> runs = scaled();
  const ScalingRecord& scaling = runs[1].scaling.value();
  CHECK(scaling.basis == basis);
  CHECK(scaling.rounds == 4);
  CHECK(scaling.speedup.value() == Approx(ratio_of_throughputs(runs)).epsilon(kExact));
  CHECK(scaling.efficiency.value() == Approx(*scaling.speedup / 2).epsilon(kExact));
  const Interval interval = scaling.efficiency_ci95.value();
  CHECK(interval.low < *scaling.efficiency);
  CHECK(interval.high > *scaling.efficiency);
}

TEST_CASE("clean rounds speak for a ratio where there are enough", "[measure]") {
  std::vector<RoundMade> of_serial(5, {{0.01}});
  std::vector<RoundMade> of_ddp(5, {{0.0125}});
  of_ddp[4] = {.steps = {0.05}, .clean = false};
  const auto scaled = [&] {
    return compared({run_in_rounds(kSerial, of_serial), run_in_rounds(kDdp, of_ddp)});
  };
  SECTION("of both") {
    const ScalingRecord scaling = scaled()[1].scaling.value();
    CHECK(scaling.basis == RatioBasis::clean_rounds);
    CHECK(scaling.rounds == 4);
    CHECK(scaling.speedup.value() == Approx(1.6));
  }
  SECTION("and all where fewer of either are clean") {
    for (const std::size_t round : {0U, 1U}) of_serial[round].clean = false;
    const ScalingRecord scaling = scaled()[1].scaling.value();
    CHECK(scaling.basis == RatioBasis::all_rounds);
    CHECK(scaling.rounds == 5);
    CHECK(scaling.speedup.value() == Approx(2 * 0.01 / ((4 * 0.0125 + 0.05) / 5)));
  }
}

TEST_CASE("what did not take turns is compared apart", "[measure]") {
  const auto runs = compared({serial(), run_made({.ranks = 2})});
  CHECK(runs[1].scaling.value().basis == RatioBasis::apart);
  CHECK_FALSE(runs[1].scaling->rounds);
  CHECK(runs[1].scaling->speedup.value() == Approx(ratio_of_throughputs(runs)).epsilon(kExact));
  CHECK_FALSE(runs[0].scaling.value().basis);
}

TEST_CASE("intervals of paired rounds cover the truth as often as they say", "[measure]") {
  std::mt19937_64 random(1);
  // Uniform, as the standard's normal distribution differs between libraries; sd 1.
  const auto noise = [&random](double sd) {
    return sd * std::sqrt(12.0) * (static_cast<double>(random() >> 11U) / 9007199254740992.0 - 0.5);
  };
  const double common = GENERATE(0.0, 0.05);
  constexpr int kTimes = 1000;
  int covered = 0;
  for (int time = 0; time < kTimes; ++time) {
    std::vector<double> base;
    std::vector<double> ddp;
    for (int round = 0; round < 5; ++round) {
      const double shared = noise(common);
      base.push_back(0.01 * std::exp(shared + noise(0.01)));
      ddp.push_back(0.01 * std::exp(shared + noise(0.01)));
    }
    const auto runs =
        compared({serial(base), run_made({.ranks = 2, .medians = ddp})}, ScalingMode::weak, true);
    const Interval interval = runs[1].scaling.value().efficiency_ci95.value();
    if (interval.low <= 1 && 1 <= interval.high) ++covered;
  }
  CHECK(covered >= 930);
}

TEST_CASE("what was lost adds up to what efficiency lacks", "[measure]") {
  const auto runs = compared({timed_serial(), timed_ddp()});
  const ScalingLossRecord& loss = runs[1].scaling.value().loss;
  CHECK(sum_of(loss) == Approx(1 - *runs[1].scaling->efficiency).epsilon(kExact));
  // The pass took 25 ms, so all is halved: compute 9 and 9.8 ms, against 8.5 ms.
  CHECK(loss.compute_slowdown.value() == Approx(0.5 / 12.5));
  CHECK(loss.wait.value() == Approx(0.8 / 12.5));
  CHECK(loss.communication.value() == Approx(1.0 / 12.5));
  CHECK(loss.data.value() == Approx(0.2 / 12.5));
  CHECK(loss.overhead.value() == Approx(0.0).margin(kExact));
  const LossTerm largest = largest_term(loss).value();
  CHECK(largest.cause == LossCause::communication);
  CHECK(largest.share == Approx(1.0 / 12.5));
}

TEST_CASE("in strong scaling the baseline's work is shared", "[measure]") {
  const RunRecord ddp = timed_ddp(32);
  const auto runs = compared({timed_serial(), ddp}, ScalingMode::strong);
  const ScalingLossRecord& loss = runs[1].scaling.value().loss;
  CHECK(runs[1].scaling->efficiency.value() == Approx(0.4));
  CHECK(sum_of(loss) == Approx(0.6).epsilon(kExact));
  CHECK(loss.compute_slowdown.value() == Approx((9 - 4.25) / 12.5));
  CHECK(loss.data.value() == Approx((1.2 - 0.5) / 12.5));
}

/// Strong scaling of 64 samples over 2 ranks, with serial training of 32 samples: 5.6 ms a step, of
/// which its pass saw 5.1 in 5.6 ms compute.
std::vector<RunRecord> strongly_scaled() {
  std::vector<RunRecord> runs{timed_serial(), timed_ddp(32),
                              serial(std::vector<double>(3, 0.0056), 32)};
  runs[2].phases_seconds = timed_serial().phases_seconds;
  runs[2].phases_seconds.data = 0.0003;
  runs[2].phases_seconds.forward = 0.0016;
  runs[2].phases_seconds.backward = 0.002;
  runs[2].phases_seconds.other = 0.0002;
  return runs;
}

std::vector<RunRecord> compared_strongly(std::vector<RunRecord> runs) {
  auto plans = plans_for(runs, ScalingMode::strong, runs.front().id);
  plans[1]->same_micro_batch = runs.back().id;
  plans[1]->all_cores = "none";
  plans.back().reset();
  add_scaling(runs, plans, kPrior);
  return runs;
}

TEST_CASE("what smaller micro-batches cost is told from slower computation", "[measure]") {
  const auto runs = compared_strongly(strongly_scaled());
  const ScalingLossRecord& loss = runs[1].scaling.value().loss;
  // Serial training computes 8.5 ms for 64 samples and 5.1 ms for 32; a rank computes 9 ms.
  CHECK(loss.batch_effect.value() == Approx((5.1 - 4.25) / 12.5));
  CHECK(loss.compute_slowdown.value() == Approx((9 - 5.1) / 12.5));
  CHECK(sum_of(loss) == Approx(1 - *runs[1].scaling->efficiency).epsilon(kExact));
  CHECK_FALSE(runs[2].scaling);
}

TEST_CASE("without serial training of its micro-batches a run has no batch effect", "[measure]") {
  std::vector<RunRecord> runs = strongly_scaled();
  SECTION("that failed") { runs[2].status = Status::failed; }
  SECTION("of other ones") { runs[2].strategy.batch_per_replica = 16; }
  SECTION("without phases") { runs[2].phases_seconds = {}; }
  runs = compared_strongly(std::move(runs));
  const ScalingLossRecord& loss = runs[1].scaling.value().loss;
  CHECK_FALSE(loss.batch_effect);
  CHECK(loss.compute_slowdown.value() == Approx((9 - 4.25) / 12.5));
  CHECK(sum_of(loss) == Approx(1 - *runs[1].scaling->efficiency).epsilon(kExact));
}

TEST_CASE("micro-batches as large as the baseline's cost nothing", "[measure]") {
  const auto runs = compared({timed_serial(), timed_ddp()});
  CHECK(runs[1].scaling.value().loss.batch_effect == 0);
}

TEST_CASE("a run is compared with serial training on all cores, with an interval", "[measure]") {
  std::vector<RunRecord> runs{serial(),
                              run_made({.ranks = 2, .medians = std::vector<double>(3, 0.0125)}),
                              serial(std::vector<double>(3, 0.01), 128)};
  auto plans = plans_for(runs, ScalingMode::weak, runs.front().id);
  plans[1]->all_cores = runs[2].id;
  plans[2].reset();
  add_scaling(runs, plans, kPrior);
  const ScalingRecord& scaling = runs[1].scaling.value();
  CHECK(scaling.all_cores == runs[2].id);
  CHECK(scaling.efficiency_vs_all_cores.value() == Approx(0.8));
  const Interval interval = scaling.efficiency_vs_all_cores_ci95.value();
  CHECK(std::sqrt(interval.low * interval.high) == Approx(0.8));
  CHECK(interval.high < 0.85);
  plans[1]->all_cores = runs[0].id;  // of half as many samples
  add_scaling(runs, plans, kPrior);
  CHECK_FALSE(runs[1].scaling.value().all_cores);
  CHECK_FALSE(runs[1].scaling.value().efficiency_vs_all_cores_ci95);
}

TEST_CASE("phases that are scaled to the step already lose the same", "[measure]") {
  RunRecord scaled = timed_ddp();
  summarize_run(scaled, kPrior);
  const ScalingLossRecord loss = scaling_loss(scaled, timed_serial());
  const ScalingLossRecord raw = scaling_loss(timed_ddp(), timed_serial());
  CHECK(loss.wait.value() == Approx(*raw.wait));
  CHECK(loss.compute_slowdown.value() == Approx(*raw.compute_slowdown));
  CHECK(loss.communication.value() == Approx(*raw.communication));
}

TEST_CASE("what one process moves between its replicas is communication", "[measure]") {
  RunRecord moving = timed_ddp();
  PhasesRecord& phases = moving.phases_seconds;
  phases.communication.reset();
  phases.communication_exposed.reset();
  phases.scatter = 0.0006;
  phases.replicate = 0.0010;
  phases.gather = 0.0004;
  phases.reduce = 0.0016;
  for (RankRecord& rank : moving.ranks) rank.wait_seconds = 0;
  const ScalingLossRecord loss = scaling_loss(moving, timed_serial());
  CHECK(loss.communication.value() == Approx(1.8 / 12.5));
  CHECK(loss.wait.value() == 0);
}

TEST_CASE("ranks that share the optimizer's work may compute less than serial", "[measure]") {
  RunRecord sharded = timed_ddp();
  sharded.phases_seconds.optimizer = 0.0016;
  sharded.phases_seconds.other = 0.0026;
  sharded.ranks = {rank_of(0, 0.0148, 0.0016), rank_of(1, 0.0148, 0.0016)};
  const auto runs = compared({timed_serial(), sharded});
  CHECK(runs[1].scaling.value().loss.compute_slowdown.value() == Approx((8.2 - 8.5) / 12.5));
  CHECK(sum_of(runs[1].scaling->loss) == Approx(0.2).epsilon(kExact));
}

TEST_CASE("waiting is never counted as communication twice", "[measure]") {
  RunRecord waiting = timed_ddp();
  waiting.ranks[0].wait_seconds = 0.005;
  const ScalingLossRecord loss = scaling_loss(waiting, timed_serial());
  CHECK(loss.communication == 0);
  CHECK(loss.wait.value() == Approx(2.5 / 12.5));
  CHECK(sum_of(loss) == Approx(0.2).epsilon(kExact));
}

TEST_CASE("where nobody knows who waits, as on several hosts, waiting is communication",
          "[measure]") {
  const ScalingLossRecord known = scaling_loss(timed_ddp(), timed_serial());
  RunRecord ddp = timed_ddp();
  for (RankRecord& rank : ddp.ranks) rank.wait_seconds.reset();
  const ScalingLossRecord loss = scaling_loss(ddp, timed_serial());
  CHECK_FALSE(loss.wait);
  const RankRecord& zero = ddp.ranks[0];
  const double waited = *timed_ddp().ranks[0].wait_seconds;
  const double slower =
      *zero.compute_seconds - std::min(*zero.compute_seconds, *ddp.ranks[1].compute_seconds);
  CHECK(loss.communication.value() ==
        Approx(known.communication.value() + (waited + slower) / 0.025));
  CHECK(loss.compute_slowdown == known.compute_slowdown);
  CHECK(largest_term(loss));
  const double sum = loss.compute_slowdown.value() + loss.communication.value() +
                     loss.data.value() + loss.overhead.value();
  CHECK(sum == Approx(0.2).epsilon(kExact));
}

TEST_CASE("a loss of which something is not known is empty", "[measure]") {
  RunRecord ddp = timed_ddp();
  RunRecord base = timed_serial();
  SECTION("phases") { ddp.phases_seconds = {}; }
  SECTION("the baseline's phases") { base.phases_seconds.backward.reset(); }
  SECTION("a rank") { ddp.ranks.pop_back(); }
  SECTION("a rank's figures") { ddp.ranks[1].compute_seconds.reset(); }
  SECTION("the samples of a step") { base.strategy.global_batch.reset(); }
  CHECK_FALSE(scaling_loss(ddp, base).overhead);
  CHECK_FALSE(scaling_loss(ddp, base).wait);
  CHECK_FALSE(largest_term(scaling_loss(ddp, base)));
}

TEST_CASE("one rank waits for nobody, so its phases are enough", "[measure]") {
  RunRecord alone = timed_ddp();
  alone.strategy.world_size = 1;
  alone.ranks.clear();
  const ScalingLossRecord loss = scaling_loss(alone, timed_serial());
  CHECK(loss.wait == 0);
  CHECK(loss.overhead.has_value());
}

}  // namespace ptbench
