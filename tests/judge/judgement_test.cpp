// What verdict follows from the typical step, the mean step and the order of repetitions.
#include "src/judge/judgement.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "src/measure/repetition.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::compare_two;
using testing::NormalNumbers;
using testing::run_of_seconds;

/// Five processes of a clean slice of 90 steps; `of_step` tells the time of one.
RunRecord run_with(const std::function<double(int process, int step)>& of_step) {
  RunRecord run;
  run.id = "run";
  for (int process = 0; process < 5; ++process) {
    Samples samples;
    for (int step = 0; step < 90; ++step) samples.step_seconds.push_back(of_step(process, step));
    samples.slices.resize(1);
    samples.slices[0].count = 90;
    samples.slices[0].clean = true;
    samples.slices[0].placement = "near";
    SamplesRecord record;
    add_repetition(samples, record);
    run.samples.repetitions.push_back(record.repetitions.at(0));
  }
  return run;
}

/// Processes whose median scatters by `typical`, and their mean by `whole` beside it.
struct Scatter {
  double typical = 0.01;
  double whole = 0.01;
  double change = 0;  ///< of the logarithms
};

RunRecord simulate(const Scatter& scatter, Size repetitions, NormalNumbers& normal) {
  RunRecord run;
  run.id = "run";
  for (Size repetition = 0; repetition < repetitions; ++repetition) {
    const double typical = scatter.change + scatter.typical * normal();
    const double whole = scatter.change + 0.02 + scatter.whole * normal();
    run.samples.repetitions.push_back(
        testing::kept_repetition(0.006 * std::exp(typical), 0.006 * std::exp(whole)));
  }
  return run;
}

}  // namespace

TEST_CASE("where every third step is 40 % longer, a run is slower", "[measure]") {
  NormalNumbers normal(1);
  const auto step_of = [&](double third) {
    return run_with([&normal, third](int process, int step) {
      return 0.006 * (1 + 0.004 * process) * (step % 3 == 0 ? third : 1) *
             std::exp(0.01 * normal());
    });
  };
  const RunRecord base = step_of(1);
  const RunRecord fresh = step_of(1.4);
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.verdict == Verdict::slower);
  CHECK(run.statistic == Statistic::lower_quartile);
  CHECK(std::abs(run.change.value()) < 0.01);
  CHECK(run.mean_change.value() == Approx(0.136).margin(0.01));
  CHECK(run.mean_change_ci999->low > 0.1);
  REQUIRE(run.deciding.has_value());
  CHECK(run.deciding->statistic == Statistic::mean);
  CHECK(run.deciding->change == *run.mean_change);
  CHECK(run.deciding->interval->low == run.mean_change_ci999->low);
  CHECK(run.deciding->level == 0.999);
  CHECK(*run.deciding->new_seconds / *run.deciding->base_seconds ==
        Approx(1 + run.deciding->change));
  CHECK_THAT(run.reason, Catch::StartsWith("the mean step is 1") &&
                             Catch::EndsWith("slower, though the quickest quarter of the steps is "
                                             "not: see the percentiles"));
  CHECK(compare_two(fresh, base).verdict == Verdict::faster);
  const RunComparison same = compare_two(base, base);
  CHECK(same.verdict == Verdict::same);
  CHECK(same.deciding->statistic == Statistic::lower_quartile);
}

TEST_CASE("means are compared where both sides know them", "[measure]") {
  NormalNumbers normal(2);
  RunRecord base = simulate({}, 5, normal);
  RunRecord fresh = simulate({}, 5, normal);
  for (RepetitionRecord& repetition : fresh.samples.repetitions) *repetition.mean_seconds *= 1.2;
  CHECK(compare_two(base, fresh).verdict == Verdict::slower);
  for (RepetitionRecord& repetition : base.samples.repetitions) repetition.mean_seconds.reset();
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.verdict == Verdict::same);
  CHECK_FALSE(run.mean_change.has_value());
}

TEST_CASE("a mean that scatters makes nothing slower, and is not the same either", "[measure]") {
  RunRecord fresh = run_of_seconds({0.006, 0.006, 0.006, 0.006, 0.006});
  const RunRecord base = fresh;
  fresh.samples.repetitions[2].mean_seconds = 0.012;
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.verdict == Verdict::ambiguous);
  CHECK(run.deciding->statistic == Statistic::mean);
  CHECK_THAT(run.reason, Catch::StartsWith("the median step stayed the same, but the mean step may "
                                           "not have: change of 14 % with a 99.9 % interval of "));
}

TEST_CASE("means that scatter give hardly any false alarm", "[measure]") {
  constexpr int kRuns = 4000;
  for (const Size repetitions : {3, 5})
    for (const double whole : {0.01, 0.02, 0.03}) {
      NormalNumbers normal(3);
      int alarms = 0;
      int same = 0;
      for (int run = 0; run < kRuns; ++run) {
        const RunRecord base = simulate({.whole = whole}, repetitions, normal);
        const Verdict verdict =
            compare_two(base, simulate({.whole = whole}, repetitions, normal)).verdict;
        alarms += verdict == Verdict::slower || verdict == Verdict::faster ? 1 : 0;
        same += verdict == Verdict::same ? 1 : 0;
      }
      CAPTURE(repetitions, whole, alarms, same);
      CHECK(alarms <= 0.01 * kRuns);
      if (whole <= 0.01) CHECK(same >= (repetitions == 3 ? 0.9 : 0.99) * kRuns);
    }
}

TEST_CASE("a program that is slower in all repetitions is slower, however they scatter",
          "[measure]") {
  const RunRecord base = run_of_seconds({0.006, 0.006, 0.00606, 0.00594, 0.006});
  const auto times = [](const std::vector<double>& factors) {
    std::vector<double> seconds;
    for (const double factor : factors) seconds.push_back(0.006 * factor);
    return run_of_seconds(seconds);
  };
  const RunRecord erratic = times({1.27, 1.45, 1.3, 1.38, 1.29});
  const RunComparison run = compare_two(base, erratic);
  CHECK(run.verdict == Verdict::slower);
  CHECK(run.reason ==
        "every repetition of NEW is slower than every one of BASE, although they scatter");
  CHECK(run.p_value.value() <= 2.0 / 252);
  CHECK(compare_two(erratic, base).verdict == Verdict::faster);
  // By few, by little, or by most only.
  CHECK(compare_two(base, times({1.27, 1.45, 1.3, 1.38})).verdict == Verdict::ambiguous);
  CHECK(compare_two(base, times({1.03, 1.45, 1.3, 1.38, 1.29})).verdict == Verdict::ambiguous);
  CHECK(compare_two(base, times({1.0, 1.45, 1.3, 1.38, 1.29})).verdict == Verdict::ambiguous);
  // In each placement that has enough.
  RunRecord base_moving = base;
  RunRecord erratic_moving = erratic;
  for (const double factor : {1.0, 1.1, 1.2, 1.3, 1.4}) {
    testing::add_process({.seconds = 0.008 * factor, .placement = "far"}, base_moving.samples);
    testing::add_process({.seconds = 0.008 * factor, .placement = "far"}, erratic_moving.samples);
  }
  CHECK(compare_two(base_moving, erratic_moving).verdict == Verdict::ambiguous);
}

TEST_CASE("equal programs that scatter wildly are seldom wholly apart", "[measure]") {
  NormalNumbers normal(5);
  constexpr int kRuns = 4000;
  for (const double wild : {0.1, 0.2}) {
    int alarms = 0;
    for (int run = 0; run < kRuns; ++run) {
      const Scatter scatter{.typical = wild, .whole = wild};
      const RunRecord base = simulate(scatter, 5, normal);
      const Verdict verdict = compare_two(base, simulate(scatter, 5, normal)).verdict;
      alarms += verdict == Verdict::slower || verdict == Verdict::faster ? 1 : 0;
    }
    CAPTURE(wild, alarms);
    CHECK(alarms <= 0.015 * kRuns);  // two statistics, independent here, of 0.8 % each
  }
}

}  // namespace ptbench
