#include "src/judge/false_discoveries.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::Noisy;
using testing::NormalNumbers;
using testing::simulate_file;

Size count_verdicts(const Comparison& comparison, Verdict verdict) {
  return std::ranges::count(comparison.runs, verdict, &RunComparison::verdict);
}

RunComparison slower(double p_value) {
  RunComparison run;
  run.verdict = Verdict::slower;
  run.p_value = p_value;
  run.change_ci99 = Interval{.low = 0.01, .high = 0.09};
  return run;
}

RunComparison unchanged() {
  RunComparison run = slower(1);
  run.verdict = Verdict::same;
  return run;
}

Comparison controlled(std::vector<RunComparison> runs) {
  Comparison comparison;
  comparison.runs = std::move(runs);
  control_false_discoveries(comparison);
  return comparison;
}

}  // namespace

TEST_CASE("one run is judged as it is alone", "[measure]") {
  const Comparison comparison = controlled({slower(0.0099)});
  CHECK(comparison.runs[0].verdict == Verdict::slower);
  CHECK(comparison.tested == 1);
  CHECK(comparison.expected_false_alarms == Approx(0.01));
}

TEST_CASE("of many runs those survive that the procedure leaves, by hand", "[measure]") {
  // Of four: 0.0025, 0.005, 0.0075, 0.01. The third is above its own, and carried by the fourth.
  const Comparison all = controlled({slower(0.01), slower(0.0076), slower(0.001), slower(0.004)});
  CHECK(count_verdicts(all, Verdict::slower) == 4);
  const Comparison some = controlled({slower(0.0076), unchanged(), slower(0.001), slower(0.004)});
  CHECK(count_verdicts(some, Verdict::slower) == 2);
  CHECK(some.expected_false_alarms == Approx(0.02));
  CHECK(some.runs[0].verdict == Verdict::ambiguous);
  CHECK(some.runs[0].reason ==
        "slower by itself (p = 0.0076), but among 4 runs that may be chance");
}

TEST_CASE("a change that does not survive is the same where its interval says so", "[measure]") {
  RunComparison small = slower(0.009);
  small.change_ci99 = Interval{.low = 0.001, .high = 0.049};
  CHECK(controlled({small, unchanged()}).runs[0].verdict == Verdict::same);
  small.mean_change_ci999 = Interval{.low = -0.01, .high = 0.08};
  CHECK(controlled({small, unchanged()}).runs[0].verdict == Verdict::ambiguous);
}

TEST_CASE("runs that were not tested are not counted", "[measure]") {
  RunComparison missing;
  missing.verdict = Verdict::missing;
  RunComparison incomparable = slower(0.001);
  incomparable.verdict = Verdict::incomparable;
  const Comparison comparison = controlled({missing, slower(0.009), incomparable, missing});
  CHECK(comparison.tested == 1);
  CHECK(comparison.runs[1].verdict == Verdict::slower);
  CHECK(comparison.runs[2].verdict == Verdict::incomparable);
}

TEST_CASE("thousands of equal runs are not called different", "[measure]") {
  NormalNumbers normal(8);
  constexpr Size kRows = 4000;
  const Noisy noisy{.deviation = 0.015, .repetitions = 5};
  const ResultFile base = simulate_file(noisy, kRows, normal);
  ResultFile fresh = simulate_file(noisy, kRows, normal);
  const Comparison equal = compare({&base, 1}, {&fresh, 1}, {}, {});
  CHECK(equal.tested == kRows);
  CHECK(count_verdicts(equal, Verdict::slower) + count_verdicts(equal, Verdict::faster) == 0);
  const Size alone = std::ranges::count_if(
      equal.runs, [](const RunComparison& run) { return *run.p_value <= 0.01; });
  CHECK(alone >= 10);  // would be, one by one

  constexpr Size kSlow = 100;
  for (RunRecord& run : std::span(fresh.runs).first(kSlow)) {
    for (RepetitionRecord& repetition : run.samples.repetitions) *repetition.median_seconds *= 1.1;
    for (double& seconds : run.samples.step_seconds) seconds *= 1.1;
  }
  PriorNoise learnt;
  learnt.learn("near", {.standard_deviation = 0.015, .degrees_of_freedom = 50});
  const Comparison comparison = compare({&base, 1}, {&fresh, 1}, {}, learnt);
  const auto slow = std::span(comparison.runs).first(kSlow);
  const auto found = std::ranges::count(slow, Verdict::slower, &RunComparison::verdict);
  CHECK(found >= kSlow * 95 / 100);
  const Size all =
      count_verdicts(comparison, Verdict::slower) + count_verdicts(comparison, Verdict::faster);
  CHECK(all - found <= 2);
  CHECK(comparison.expected_false_alarms == Approx(0.01 * static_cast<double>(all)));
}

}  // namespace ptbench
