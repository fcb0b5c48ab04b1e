// What repetitions are compared by, and what that finds that medians hide.
#include "src/measure/repetition_times.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "src/judge/comparison.h"
#include "src/measure/repetition.h"
#include "src/measure/statistics.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::compare_two;

using Seconds = std::vector<double>;

/// As a process of one clean slice near adds it.
void add_process(const Seconds& seconds, SamplesRecord& record) {
  Samples samples;
  samples.step_seconds = seconds;
  samples.slices.resize(1);
  samples.slices[0].count = std::ssize(seconds);
  samples.slices[0].clean = true;
  samples.slices[0].placement = "near";
  SamplesRecord process;
  add_repetition(samples, process);
  record.repetitions.push_back(process.repetitions.at(0));
}

/// Five repetitions of 40 steps; `of_step` tells the time of one.
RunRecord run_with(const std::function<double(int repetition, int step)>& of_step) {
  RunRecord run;
  run.id = "run";
  for (int repetition = 0; repetition < 5; ++repetition) {
    Seconds seconds;
    for (int step = 0; step < 40; ++step) seconds.push_back(of_step(repetition, step));
    add_process(seconds, run.samples);
  }
  return run;
}

/// As old entries of a history are.
RunRecord of_medians_alone(RunRecord run) {
  for (RepetitionRecord& repetition : run.samples.repetitions) {
    repetition.lower_quartile_seconds.reset();
    repetition.mean_seconds.reset();
  }
  return run;
}

}  // namespace

TEST_CASE("there are quartiles where every clean repetition has one", "[measure]") {
  SamplesRecord samples;
  add_process(Seconds(30, 2.0), samples);
  samples.repetitions.push_back({.median_seconds = 5, .placement = "near", .clean_slices = 0});
  const auto times = quartile_times(samples);
  REQUIRE(times);
  REQUIRE(times->size() == 2);
  CHECK(std::exp(times->at(0).log_time.value()) == Approx(2));
  CHECK(times->at(0).placement == "near");
  CHECK_FALSE(times->at(1).log_time);
  CHECK(by_class(*times).at("near").size() == 1);
  add_process(Seconds(19, 2.0), samples);
  CHECK_FALSE(quartile_times(samples));
  CHECK(by_class(compared_times(samples)) == by_class(median_times(samples)));
}

TEST_CASE("a slowdown is found among processes of which half the steps are disturbed",
          "[measure]") {
  // In each process other shares of the steps are up to a third slower: 40 to 65 %.
  const auto disturbed = [](int repetition, int step) {
    const int quiet = 14 + (repetition * 7) % 11;
    return step < quiet ? 1 + 0.001 * step : 1.05 + 0.01 * (step - quiet + repetition);
  };
  const RunRecord base = run_with(disturbed);
  const RunRecord fresh = run_with(
      [&](int repetition, int step) { return 1.05 * disturbed((repetition + 2) % 5, step); });
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.verdict == Verdict::slower);
  CHECK(run.statistic == Statistic::lower_quartile);
  CHECK(run.change.value() == Approx(0.05).margin(0.002));
  const RunComparison of_medians = compare_two(of_medians_alone(base), of_medians_alone(fresh));
  CHECK(of_medians.statistic == Statistic::median);
  CHECK(of_medians.verdict == Verdict::ambiguous);
  // Sides are compared by one statistic.
  CHECK(compare_two(base, of_medians_alone(fresh)).statistic == Statistic::median);
}

TEST_CASE("a change of slow steps alone is a change", "[measure]") {
  const RunRecord base = run_with([](int, int step) { return 1 + 1e-4 * step; });
  const RunRecord fresh =
      run_with([](int, int step) { return (step < 15 ? 1 : 1.08) * (1 + 1e-4 * step); });
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.change.value() == Approx(0).margin(1e-3));
  CHECK(run.mean_change.value() == Approx(0.05).margin(1e-3));
  CHECK(run.verdict == Verdict::slower);
  CHECK(run.reason ==
        "the mean step is 5 % slower, though the quickest quarter of the steps is not: see the "
        "percentiles");
  CHECK(compare_two(fresh, base).verdict == Verdict::faster);
  CHECK(compare_two(base, base).verdict == Verdict::same);
  // By medians where means are not known.
  RunRecord kept = fresh;
  for (RepetitionRecord& repetition : kept.samples.repetitions) repetition.mean_seconds.reset();
  CHECK_THAT(compare_two(base, kept).reason, Catch::StartsWith("the median step is 8 % slower"));
}

TEST_CASE("quartiles and means that contradict each other give no verdict", "[measure]") {
  const RunRecord base = run_with([](int, int step) { return step < 15 ? 1 : 1.2; });
  const RunRecord fresh = run_with([](int, int step) { return step < 15 ? 1.05 : 1.08; });
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.change.value() == Approx(0.05));
  CHECK(run.verdict == Verdict::ambiguous);
  CHECK(run.reason ==
        "the quickest quarter of the steps is 5 % slower, but the mean step is 5 % faster: see the "
        "percentiles");
  CHECK(compare_two(fresh, base).verdict == Verdict::ambiguous);
}

TEST_CASE("the mean of a repetition is kept without its samples", "[measure]") {
  SamplesRecord samples;
  add_process(Seconds{1, 2, 6}, samples);
  CHECK(samples.repetitions[0].mean_seconds == 3);
  CHECK(mean_seconds(samples, 0) == 3);
  CHECK(std::exp(mean_times(samples)->at(0).log_time.value()) == Approx(3));
  samples.repetitions[0].mean_seconds.reset();
  CHECK_FALSE(mean_times(samples).has_value());
}

TEST_CASE("a self-check tells what comparisons see, and teaches what medians do", "[measure]") {
  const RunRecord run =
      run_with([](int repetition, int step) { return step < 15 ? 1 : 1 + 0.01 * repetition; });
  ResultFile file;
  file.runs = {run};
  const auto checks = self_check({&file, 1}, {}, {});
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].repetitions == 5);
  CHECK(checks[0].standard_deviation == Approx(0).margin(1e-12));
  const Seconds medians{0, std::log(1.01), std::log(1.02), std::log(1.03), std::log(1.04)};
  const double deviation = standard_deviation(medians).value();
  CHECK(checks[0].median_deviation == Approx(deviation));
  CHECK(learn(checks).of("near") ==
        Approx(std::sqrt((10 * 1e-4 + 4 * deviation * deviation) / 14)));
}

}  // namespace ptbench
