#include "src/measure/summarize_run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "src/measure/repetition.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::run_of;
using testing::run_of_seconds;

RunRecord three_samples() {
  RunRecord run;
  run.samples.step_seconds = {0.004, 0.002, 0.009};
  return run;
}

RunRecord summarized(RunRecord run, const PriorNoise& prior = {}) {
  summarize_run(run, prior);
  return run;
}

}  // namespace

TEST_CASE("a record without repetitions is summarised from its samples", "[measure]") {
  RunRecord run = three_samples();
  run.strategy.global_batch = 128;
  run.workload.flops_per_sample = 1e6;
  run.compute.peak_flops_per_second = 64e9;
  summarize_run(run, {});

  CHECK(run.samples.count == 3);
  CHECK(run.step_seconds.median == 0.004);
  CHECK(run.step_seconds.mean.value() == Approx(0.005));
  CHECK(run.step_seconds.min == 0.002);
  CHECK(run.step_seconds.max == 0.009);
  CHECK(run.throughput.value.value() == Approx(128 / 0.005));
  CHECK(run.compute.flops_per_step.value() == Approx(128e6));
  CHECK(run.compute.flops_per_second.value() == Approx(25.6e9));
  CHECK(run.compute.effective_utilization.value() == Approx(0.4));
  CHECK_FALSE(run.compute.utilization.has_value());  // what was executed is not known
  CHECK_FALSE(run.step_seconds.ci95.has_value());
  CHECK_FALSE(run.step_seconds.run_to_run_sd.has_value());
  CHECK_FALSE(run.throughput.ci95.has_value());
  CHECK(run.step_seconds.by_placement.empty());
}

TEST_CASE("utilization is of the operations that are executed", "[measure]") {
  RunRecord run = three_samples();
  run.strategy.global_batch = 128;
  run.workload.flops_per_sample = 1e6;
  run.compute.executed_flops_per_step = 64e6;
  run.compute.peak_flops_per_second = 64e9;
  summarize_run(run, {});
  CHECK(run.compute.utilization.value() == Approx(0.2));
  CHECK(run.compute.effective_utilization.value() == Approx(0.4));
}

TEST_CASE("throughput is samples over seconds in clean slices", "[measure]") {
  RunRecord run = run_of({{.seconds = 0.005}, {.seconds = 0.05, .clean = false}});
  run.strategy.global_batch = 100;
  // The unclean repetition's slice counts for nothing; the clean one's samples are 0.9, 1 and 1.2
  // times 5 ms.
  summarize_run(run, {});
  CHECK(run.throughput.value.value() == Approx(3 * 100 / (3.1 * 0.005)));
  CHECK(run.step_seconds.median.value() == Approx(0.005));
}

TEST_CASE("rates need a batch, operations and a peak", "[measure]") {
  const RunRecord run = summarized(three_samples());
  CHECK(run.step_seconds.median.has_value());
  CHECK_FALSE(run.throughput.value.has_value());
  CHECK_FALSE(run.compute.flops_per_second.has_value());
  CHECK_FALSE(run.compute.utilization.has_value());
}

TEST_CASE("operations that are known otherwise are kept", "[measure]") {
  RunRecord run = three_samples();
  run.compute.flops_per_step = 4e6;
  summarize_run(run, {});
  CHECK(run.compute.flops_per_second.value() == Approx(4e6 / 0.005));
}

TEST_CASE("a record without samples has no figures, not even old ones", "[measure]") {
  RunRecord run;
  run.strategy.global_batch = 128;
  run.step_seconds.median = 1;
  run.throughput.value = 128;
  run.compute.utilization = 0.5;
  summarize_run(run, {});
  CHECK(run.samples.count == 0);
  CHECK_FALSE(run.step_seconds.median.has_value());
  CHECK_FALSE(run.throughput.value.has_value());
  CHECK_FALSE(run.compute.utilization.has_value());
}

TEST_CASE("the median of a run is the geometric mean of its repetitions", "[measure]") {
  RunRecord run = run_of_seconds({0.005, 0.00506, 0.00494});
  run.strategy.global_batch = 100;
  summarize_run(run, {});
  const double centre = std::cbrt(0.005 * 0.00506 * 0.00494);
  CHECK(run.step_seconds.median.value() == Approx(centre));
  CHECK(run.step_seconds.run_to_run_sd.value() == Approx(6e-5));

  double squares = 0;
  for (const double seconds : {0.005, 0.00506, 0.00494})
    squares += std::pow(std::log(seconds / centre), 2);
  // t(0.975, 12) = 2.17881
  const double half = 2.17881 * std::sqrt((10e-4 + squares) / 12) / std::sqrt(3.0);
  REQUIRE(run.step_seconds.ci95.has_value());
  CHECK(run.step_seconds.ci95->low == Approx(centre * std::exp(-half)).epsilon(1e-6));
  CHECK(run.step_seconds.ci95->high == Approx(centre * std::exp(half)).epsilon(1e-6));
  // Each repetition's mean step is 3.1 / 3 times its median: the means scatter as the medians do.
  CHECK(run.throughput.value.value() == Approx(100 / (3.1 / 3 * 0.005)));
  CHECK(run.throughput.ci95->low == Approx(*run.throughput.value * std::exp(-half)).epsilon(1e-6));
  CHECK(run.throughput.ci95->high == Approx(*run.throughput.value * std::exp(half)).epsilon(1e-6));
}

/// Adds a slice of so many equal samples, clean and near.
void add_slice(Size repetition, Size count, double seconds, SamplesRecord& samples) {
  SliceRecord slice;
  slice.repetition = repetition;
  slice.first = std::ssize(samples.step_seconds);
  slice.count = count;
  slice.clean = true;
  slice.placement = "near";
  slice.median_seconds = seconds;
  samples.step_seconds.insert(samples.step_seconds.end(), static_cast<std::size_t>(count), seconds);
  samples.slices.push_back(slice);
}

/// One process whose first slices have few slow steps, and the later ones many fast ones.
RunRecord slow_at_first(Size slow_slices, Size fast_slices) {
  RunRecord run;
  for (Size slice = 0; slice < slow_slices; ++slice) add_slice(0, 10, 0.05, run.samples);
  for (Size slice = 0; slice < fast_slices; ++slice) add_slice(0, 250, 0.002, run.samples);
  run.samples.repetitions = {repetition_of(run.samples.slices)};
  return summarized(run);
}

TEST_CASE("percentiles contain the median, whatever slices are like", "[measure]") {
  for (Size slow = 0; slow < 8; ++slow) {
    CAPTURE(slow);
    const StepSecondsRecord steps = slow_at_first(slow, 4).step_seconds;
    const std::vector<double> ordered{*steps.min, *steps.p10, *steps.median, *steps.p90,
                                      *steps.p95, *steps.p99, *steps.max};
    CHECK(std::ranges::is_sorted(ordered));
  }
  // All of the slow slices' samples are 2 % of all samples, and lasted half of the time.
  const StepSecondsRecord steps = slow_at_first(4, 4).step_seconds;
  CHECK(steps.median == Approx(0.026));
  CHECK(steps.p10 == Approx(0.002));
  CHECK(steps.p90 == Approx(0.05));
  RunRecord outlier = run_of_seconds(std::vector<double>(20, 0.006));
  outlier.samples.repetitions.front().median_seconds = 0.0001;
  const StepSecondsRecord drawn = summarized(outlier).step_seconds;
  CHECK(*drawn.p10 <= *drawn.median);
  CHECK(*drawn.min <= *drawn.p10);
}

TEST_CASE("an interval needs three repetitions", "[measure]") {
  CHECK_FALSE(summarized(run_of_seconds({0.005})).step_seconds.ci95.has_value());
  const RunRecord two = summarized(run_of_seconds({0.004, 0.009}));
  CHECK(two.step_seconds.median.value() == Approx(0.006));
  CHECK_FALSE(two.step_seconds.ci95.has_value());
  CHECK_FALSE(two.step_seconds.run_to_run_sd.has_value());
}

TEST_CASE("the placement with the most clean repetitions speaks for the run", "[measure]") {
  const RunRecord run = summarized(run_of({{.seconds = 0.006},
                                           {.seconds = 0.008, .placement = "far"},
                                           {.seconds = 0.008, .placement = "far"},
                                           {.seconds = 0.06, .clean = false},
                                           {.seconds = 0.06, .clean = false},
                                           {.seconds = 0.06, .clean = false}}));
  CHECK(run.step_seconds.median.value() == Approx(0.008));
  CHECK(run.step_seconds.min.value() == Approx(0.9 * 0.008));
  CHECK(run.step_seconds.max.value() == Approx(1.2 * 0.008));
  CHECK(run.step_seconds.mean.value() == Approx(3.1 / 3 * 0.008));
  REQUIRE(run.step_seconds.by_placement.size() == 2);
  const auto& placements = run.step_seconds.by_placement;
  CHECK(placements.at("near").median_seconds.value() == Approx(0.006));
  CHECK(placements.at("near").repetitions == 1);
  CHECK(placements.at("far").median_seconds.value() == Approx(0.008));
  CHECK(placements.at("far").repetitions == 2);
  CHECK(run.samples.count == 18);
}

TEST_CASE("of two placements with as many repetitions, near speaks", "[measure]") {
  const RunRecord run = summarized(
      run_of({{.seconds = 0.008, .placement = "far"}, {.seconds = 0.006, .placement = "near"}}));
  CHECK(run.step_seconds.median.value() == Approx(0.006));
}

TEST_CASE("repetitions on one core are a class of their own", "[measure]") {
  const RunRecord run = summarized(run_of_seconds({0.006, 0.006, 0.006}, std::nullopt));
  CHECK(run.step_seconds.by_placement.at("one_core").repetitions == 3);
  CHECK(run.step_seconds.min.value() == Approx(0.9 * 0.006));
  CHECK(run.step_seconds.ci95.has_value());
}

TEST_CASE("without a clean repetition all of them speak, and for themselves", "[measure]") {
  const RunRecord run =
      summarized(run_of({{.seconds = 0.0060, .clean = false},
                         {.seconds = 0.0061, .placement = "mixed", .clean = false},
                         {.seconds = 0.0062, .clean = false}}));
  CHECK(run.step_seconds.median.value() == Approx(std::cbrt(0.0060 * 0.0061 * 0.0062)));
  CHECK(run.step_seconds.min.value() == Approx(0.9 * 0.0060));
  CHECK(run.step_seconds.by_placement.empty());
  // t(0.975, 2) = 4.30265, s of the logarithms nearly 0.0001 / 0.0061.
  const double half = std::log(run.step_seconds.ci95->high / *run.step_seconds.median);
  CHECK(half == Approx(4.30265 * 0.0001 / 0.0061 / std::sqrt(3.0)).epsilon(1e-3));
}

TEST_CASE("slices that lead outside the samples are passed over", "[measure]") {
  RunRecord run = run_of_seconds({0.006});
  SliceRecord& slice = run.samples.slices[0];
  const auto covered = [&](Size first, Size count) {
    slice.first = first;
    slice.count = count;
    return slice_samples(slice, run.samples.step_seconds).size();
  };
  constexpr Size kHuge = std::numeric_limits<Size>::max();
  CHECK(covered(1, 2) == 2);
  CHECK(covered(3, 0) == 0);
  CHECK(covered(1, 3) == 0);
  CHECK(covered(-1, 2) == 0);
  CHECK(covered(0, -1) == 0);
  CHECK(covered(kHuge, 1) == 0);
  CHECK(covered(1, kHuge) == 0);
  summarize_run(run, {});
  CHECK(run.step_seconds.max.value() == Approx(1.2 * 0.006));
}

TEST_CASE("phases add up to the median step", "[measure]") {
  RunRecord run = three_samples();
  PhasesRecord& phases = run.phases_seconds;
  phases.data = 0.0001;
  phases.forward = 0.0005;
  phases.backward = 0.0009;
  phases.communication = 0.0008;  // hidden but for the exposed part
  phases.communication_exposed = 0.0002;
  phases.optimizer = 0.0002;
  phases.other = 0.0001;
  SECTION("they are scaled") {
    summarize_run(run, {});
    CHECK(phases.data.value() == Approx(0.0002));
    CHECK(phases.forward.value() == Approx(0.001));
    CHECK(phases.communication.value() == Approx(0.0016));
    CHECK(phases.other.value() == Approx(0.0002));
    CHECK_FALSE(phases.scatter.has_value());
  }
  SECTION("scaling them again changes nothing") {
    summarize_run(run, {});
    summarize_run(run, {});
    CHECK(phases.backward.value() == Approx(0.0018));
  }
  SECTION("those of no length cannot be scaled") {
    phases = {};
    phases.forward = 0;
    summarize_run(run, {});
    CHECK(phases.forward == 0);
  }
}

TEST_CASE("what a loader tells of its waiting is no phase pass", "[measure]") {
  RunRecord run = three_samples();
  run.phases_seconds.data = 0.0001;
  summarize_run(run, {});
  CHECK(run.phases_seconds.data == 0.0001);
  CHECK_FALSE(run.phases_seconds.other.has_value());
}

namespace {

/// Share of 10,000 runs of 5 processes whose interval holds the true step time. Their logarithms
/// scatter by `deviation`, where `usual` is thought to be usual.
double coverage(double deviation, double usual) {
  testing::NormalNumbers normal(1);
  PriorNoise prior;
  prior.learn("near", {.standard_deviation = usual, .degrees_of_freedom = 100});
  constexpr int kRuns = 10'000;
  int covered = 0;
  for (int index = 0; index < kRuns; ++index) {
    RunRecord run =
        testing::simulate({.seconds = 0.006, .deviation = deviation, .repetitions = 5}, normal);
    summarize_run(run, prior);
    const Interval interval = run.step_seconds.ci95.value();
    if (interval.low <= 0.006 && 0.006 <= interval.high) ++covered;
  }
  return static_cast<double>(covered) / kRuns;
}

}  // namespace

TEST_CASE("the interval of a run covers the truth 95 times in 100", "[measure][long]") {
  for (const double learnt : {0.006, 0.0146, 0.03}) {
    const double covered = coverage(learnt, learnt);
    CHECK(covered >= 0.93);
    CHECK(covered <= 0.97);
  }
}

TEST_CASE("the interval of a quieter machine than is usual covers the truth more often",
          "[measure][long]") {
  CHECK(coverage(0.006, PriorNoise::kUnlearnt) >= 0.99);
}

TEST_CASE("the interval covers the truth less often where more noise is not learnt",
          "[measure][long]") {
  CHECK(coverage(0.0146, PriorNoise::kUnlearnt) >= 0.88);
  for (const double deviation : {0.019, 0.025, 0.03}) {
    const double covered = coverage(deviation, PriorNoise::kUnlearnt);
    CHECK(covered >= 0.8);
    CHECK(covered < 0.93);
  }
  CHECK(coverage(0.1, PriorNoise::kUnlearnt) >= 0.93);  // unusual: the run's own spread counts
}

TEST_CASE("energy is that of a step in the slices that count", "[measure]") {
  RunRecord run = run_of({{.seconds = 0.006}, {.seconds = 0.006, .clean = false}});
  run.samples.steps_per_sample = 2;
  CHECK_FALSE(summarized(run).energy.has_value());
  run.samples.slices.at(0).joules = 1.5;   // 3 samples of 2 steps
  run.samples.slices.at(1).joules = 60.0;  // another program took most of it
  CHECK(summarized(run).energy.value().joules_per_step.value() == Approx(0.25));
  CHECK(summarized(run).energy.value().source.value() == "RAPL: CPU packages");

  SECTION("of devices, where they tell") {
    run.samples.slices.at(0).device_joules = 12;
    CHECK(summarized(run).energy.value().joules_per_step.value() == Approx(2));
    CHECK(summarized(run).energy.value().source.value() == "NVML: GPU");
  }
  SECTION("without a clean slice all count") {
    run.samples.slices.at(0).clean = false;
    CHECK(summarized(run).energy.value().joules_per_step.value() == Approx(61.5 / 12));
  }
  SECTION("a slice that does not know it is left out with its steps") {
    run.samples.slices.at(1).clean = true;
    run.samples.slices.at(1).joules.reset();
    CHECK(summarized(run).energy.value().joules_per_step.value() == Approx(0.25));
  }
}

TEST_CASE("what another meter told stays where slices know no energy", "[measure]") {
  RunRecord run = run_of_seconds({0.006});
  run.energy = EnergyRecord{0.5, "wall socket"};
  CHECK(summarized(run).energy.value().source.value() == "wall socket");
}

}  // namespace ptbench
