#include "src/judge/serial_fraction.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>

#include "src/judge/scaling.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

constexpr double kRounding = 1e-12;
constexpr MeanError kKnown{};

std::optional<SerialFraction> fit(ScalingMode mode, const std::vector<ScalingPoint>& points) {
  return fit_serial_fraction(mode, points, kKnown);
}

std::vector<ScalingPoint> amdahl(double fraction, std::initializer_list<Size> counts) {
  std::vector<ScalingPoint> points;
  for (const Size n : counts)
    points.push_back(
        {.ranks = n, .speedup = 1 / (fraction + (1 - fraction) / static_cast<double>(n))});
  return points;
}

RunRecord run_on(const std::string& strategy, Size ranks, Size batch,
                 const std::vector<double>& medians) {
  RunRecord run;
  run.id =
      "mlp/" + strategy + "/n" + std::to_string(ranks) + "/b" + std::to_string(batch) + "/fp32";
  run.workload.name = "mlp";
  run.strategy.name = strategy;
  run.strategy.world_size = ranks;
  run.strategy.batch_per_replica = batch;
  run.strategy.global_batch = batch * ranks;
  for (const double median : medians)
    run.samples.repetitions.push_back(
        {.median_seconds = median, .placement = "near", .clean_slices = 1});
  summarize_run(run, PriorNoise());
  return run;
}

RunRecord run_on(const std::string& strategy, Size ranks, Size batch = 64) {
  return run_on(strategy, ranks, batch, {0.01, 0.01, 0.01});
}

std::vector<RunRecord> with_speedups(std::vector<RunRecord> runs, ScalingMode mode) {
  const std::vector<std::optional<ScalingPlan>> plans(
      runs.size(), ScalingPlan{.mode = mode, .baseline = runs.front().id, .one_rank = ""});
  add_scaling(runs, plans, PriorNoise());
  return runs;
}

}  // namespace

TEST_CASE("times that obey Amdahl's law tell its serial fraction", "[measure]") {
  const double serial_fraction = GENERATE(0.01, 0.1, 0.5);
  std::vector<ScalingPoint> points = amdahl(serial_fraction, {1, 2, 4, 8});
  const SerialFraction found = fit(ScalingMode::strong, points).value();
  CHECK(found.fraction == Approx(serial_fraction));
  CHECK(found.largest_speedup(found.fraction).value() == Approx(1 / serial_fraction));
  CHECK(found.ci95.low == found.fraction);  // nothing scatters
  CHECK(found.ci95.high == found.fraction);
  // A single rank that is slower than serial makes no part of a step serial.
  constexpr double kUnit = 0.9;
  for (ScalingPoint& point : points) point.speedup *= kUnit;
  const SerialFraction slower = fit(ScalingMode::strong, points).value();
  CHECK(slower.fraction == Approx(serial_fraction));
  CHECK(slower.largest_speedup(slower.fraction).value() == Approx(kUnit / serial_fraction));
}

TEST_CASE("speedups that obey Gustafson's law tell its serial fraction", "[measure]") {
  CHECK(fit(ScalingMode::weak, {{2, 1.9}, {4, 3.7}, {8, 7.3}}).value().fraction == Approx(0.1));
}

TEST_CASE("a serial fraction is a least squares fit within its bounds", "[measure]") {
  // y = 1/S − 1/n is 0.1, 0 and 0, x = 1 − 1/n is 0.5, 0.75 and 0.875.
  const SerialFraction found = fit(ScalingMode::strong, {{2, 1 / 0.6}, {4, 4}, {8, 8}}).value();
  CHECK(found.fraction == Approx(0.05 / (0.25 + 0.5625 + 0.765625)));
  const SerialFraction none = fit(ScalingMode::strong, {{1, 1}, {2, 2.2}, {4, 4.4}}).value();
  CHECK(none.fraction == 0);
  CHECK_FALSE(none.largest_speedup(none.fraction));
  const std::vector<ScalingPoint> slower{{1, 1}, {2, 0.7}, {4, 0.5}};
  CHECK(fit(ScalingMode::strong, slower).value().fraction == 1);
  CHECK(fit(ScalingMode::weak, slower).value().fraction == 1);
}

TEST_CASE("fewer than three numbers of ranks tell no serial fraction", "[measure]") {
  CHECK_FALSE(fit(ScalingMode::strong, {{1, 1}, {2, 1.9}}));
  CHECK_FALSE(fit(ScalingMode::strong, {{1, 1}, {2, 1.9}, {2, 1.8}}));
  CHECK_FALSE(fit(ScalingMode::weak, {{1, 1}, {2, 1.9}, {2, 1.8}}));
  CHECK_FALSE(fit(ScalingMode::weak, {}));
  CHECK(fit(ScalingMode::weak, {{1, 1}, {2, 1.9}, {3, 2.8}}));
}

TEST_CASE("intervals of a serial fraction cover the truth as often as they say", "[measure]") {
  const ScalingMode mode = GENERATE(ScalingMode::strong, ScalingMode::weak);
  const bool has_one = GENERATE(true, false);
  CAPTURE(mode == ScalingMode::strong, has_one);
  constexpr double kTrue = 0.2;
  constexpr double kDeviation = 0.01;
  constexpr Size kRepetitions = 5;
  std::mt19937_64 random(7);
  // Uniform, as the standard's normal distribution differs between libraries.
  const auto noise = [&](double sd) {
    return sd * std::sqrt(12.0) * (static_cast<double>(random() >> 11U) / 9007199254740992.0 - 0.5);
  };
  const auto mean_of_noise = [&] {
    double sum = 0;
    for (Size i = 0; i < kRepetitions; ++i) sum += noise(kDeviation);
    return sum / kRepetitions;
  };
  const MeanError error{.variance = kDeviation * kDeviation / kRepetitions,
                        .degrees_of_freedom = 14};
  constexpr int kTimes = 1000;
  int covered = 0;
  for (int time = 0; time < kTimes; ++time) {
    const double of_baseline = mean_of_noise();
    std::vector<ScalingPoint> points;
    for (const Size n : {1, 2, 4}) {
      if (n == 1 && !has_one) continue;
      const auto ranks = static_cast<double>(n);
      const double exact = mode == ScalingMode::strong ? 1 / (kTrue + (1 - kTrue) / ranks)
                                                       : ranks - kTrue * (ranks - 1);
      points.push_back(
          {.ranks = n, .speedup = exact * std::exp(of_baseline - mean_of_noise()), .error = error});
    }
    if (!has_one)
      points.push_back({.ranks = 3,
                        .speedup = (mode == ScalingMode::strong ? 1 / (kTrue + (1 - kTrue) / 3)
                                                                : 3 - kTrue * 2) *
                                   std::exp(of_baseline - mean_of_noise()),
                        .error = error});
    const SerialFraction found = fit_serial_fraction(mode, points, error).value();
    if (found.ci95.low <= kTrue && kTrue <= found.ci95.high) ++covered;
  }
  CHECK(covered >= 930);
  CHECK(covered <= 985);
}

TEST_CASE("runs that differ in the number of ranks are a family", "[measure]") {
  std::vector<RunRecord> runs{run_on("serial", 1),   run_on("ddp", 4), run_on("ddp", 2),
                              run_on("ddp-flat", 2), run_on("ddp", 2), run_on("ddp", 3)};
  runs[2].id += "/threads=1";
  runs[4].id += "/bucket-mb=1/threads=1";
  runs = with_speedups(runs, ScalingMode::weak);
  const std::vector<ScalingFamily> families = scaling_families(runs);
  REQUIRE(families.size() == 3);
  CHECK(families[0].runs == std::vector<const RunRecord*>{&runs[2], &runs[5], &runs[1]});
  CHECK(families[0].serial_fraction.value().fraction == Approx(0.0).margin(kRounding));
  CHECK(families[0].serial_fraction->ci95.high > 0);
  CHECK(families[1].runs == std::vector<const RunRecord*>{&runs[3]});
  CHECK_FALSE(families[1].serial_fraction);
  CHECK(families[2].runs == std::vector<const RunRecord*>{&runs[4]});
}

TEST_CASE("batches that strong scaling shares are a family", "[measure]") {
  const auto runs = with_speedups({run_on("serial", 1), run_on("ddp", 2, 32), run_on("ddp", 4, 16)},
                                  ScalingMode::strong);
  REQUIRE(scaling_families(runs).size() == 1);
  CHECK(scaling_families(runs)[0].runs.size() == 2);
}

TEST_CASE("runs of fewer than three clean repetitions tell no serial fraction", "[measure]") {
  std::vector<RunRecord> runs{run_on("serial", 1), run_on("ddp", 1), run_on("ddp", 2),
                              run_on("ddp", 4)};
  runs = with_speedups(runs, ScalingMode::weak);
  REQUIRE(scaling_families(runs).at(0).serial_fraction);
  const std::size_t disturbed = GENERATE(0U, 1U, 2U, 3U);
  runs[disturbed].samples.repetitions[0].clean_slices = 0;
  CHECK_FALSE(scaling_families(runs).at(0).serial_fraction);
}

}  // namespace ptbench
