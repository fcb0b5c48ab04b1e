// What repetitions are compared by, and what that finds that medians hide.
#include "src/measure/repetition_times.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "src/measure/comparison.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

using Seconds = std::vector<double>;

/// A slice of the last repetition.
void add_slice(SamplesRecord& samples, const Seconds& seconds, bool clean = true,
               const std::string& placement = "near") {
  SliceRecord slice;
  slice.repetition = std::ssize(samples.repetitions) - 1;
  slice.first = std::ssize(samples.step_seconds);
  slice.count = std::ssize(seconds);
  slice.clean = clean;
  slice.placement = placement;
  samples.slices.push_back(slice);
  samples.step_seconds.insert(samples.step_seconds.end(), seconds.begin(), seconds.end());
}

/// Of one clean slice near.
void add_repetition(SamplesRecord& samples, const Seconds& seconds) {
  samples.repetitions.push_back(
      {.median_seconds = median(seconds), .placement = "near", .clean_slices = 1});
  add_slice(samples, seconds);
}

/// `count` numbers from `first` on, `step` apart.
Seconds series(int count, double first, double step) {
  Seconds seconds;
  for (int index = 0; index < count; ++index) seconds.push_back(first + step * index);
  return seconds;
}

/// Five repetitions of 40 steps; `of_step` tells the time of one.
RunRecord run_with(const std::function<double(int repetition, int step)>& of_step) {
  RunRecord run;
  run.id = "run";
  for (int repetition = 0; repetition < 5; ++repetition) {
    Seconds seconds;
    for (int step = 0; step < 40; ++step) seconds.push_back(of_step(repetition, step));
    add_repetition(run.samples, seconds);
  }
  return run;
}

RunRecord without_samples(RunRecord run) {
  run.samples.step_seconds.clear();
  run.samples.slices.clear();
  return run;
}

RunComparison compare_two(const RunRecord& base, const RunRecord& fresh) {
  ResultFile base_file;
  base_file.runs = {base};
  ResultFile new_file;
  new_file.runs = {fresh};
  return compare({&base_file, 1}, {&new_file, 1}, {}, {}).runs.at(0);
}

}  // namespace

TEST_CASE("quartiles are of the clean samples in a repetition's placement", "[measure]") {
  SamplesRecord samples;
  add_repetition(samples, series(21, 10, 1));  // 10 to 30
  add_slice(samples, series(30, 1, 0), false);
  add_slice(samples, series(30, 2, 0), true, "far");
  add_slice(samples, series(20, 31, 1));  // 31 to 50
  samples.repetitions.push_back(
      {.median_seconds = 5, .placement = "near", .clean_slices = 0});  // no sample at all
  const auto times = quartile_times(samples);
  REQUIRE(times);
  REQUIRE(times->size() == 2);
  CHECK(std::exp(times->at(0).log_time.value()) == Approx(20));
  CHECK(times->at(0).placement == "near");
  CHECK_FALSE(times->at(1).log_time);
  CHECK(by_class(*times).at("near").size() == 1);
  CHECK(std::exp(median_times(samples).at(0).log_time.value()) == Approx(20));  // of the first
}

TEST_CASE("there are no quartiles of few samples", "[measure]") {
  SamplesRecord samples;
  add_repetition(samples, series(20, 1, 0.01));
  CHECK(quartile_times(samples));
  add_repetition(samples, series(19, 1, 0.01));
  CHECK_FALSE(quartile_times(samples));
  CHECK(by_class(compared_times(samples)) == by_class(median_times(samples)));
}

TEST_CASE("slices that point outside the samples count for nothing", "[measure]") {
  SamplesRecord samples;
  add_repetition(samples, series(30, 1, 0.01));
  SliceRecord& slice = samples.slices[0];
  const auto broken = GENERATE(values<std::vector<Size>>(
      {{0, 0, 31}, {0, 31, 0}, {0, -1, 20}, {0, 0, -1}, {1, 0, 30}, {-1, 0, 30}}));
  slice.repetition = broken[0];
  slice.first = broken[1];
  slice.count = broken[2];
  CHECK_FALSE(quartile_times(samples));
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
  const RunComparison of_medians = compare_two(without_samples(base), without_samples(fresh));
  CHECK(of_medians.statistic == Statistic::median);
  CHECK(of_medians.verdict == Verdict::ambiguous);
  // Sides are compared by one statistic.
  CHECK(compare_two(base, without_samples(fresh)).statistic == Statistic::median);
}

TEST_CASE("a change of slow steps alone is not the same", "[measure]") {
  const RunRecord base = run_with([](int, int step) { return 1 + 1e-4 * step; });
  const RunRecord fresh =
      run_with([](int, int step) { return (step < 15 ? 1 : 1.08) * (1 + 1e-4 * step); });
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.change.value() == Approx(0).margin(1e-3));
  CHECK(run.verdict == Verdict::ambiguous);
  CHECK(run.reason ==
        "the median step is 8 % slower, but the quickest quarter is not: see the percentiles");
  CHECK(compare_two(fresh, base).verdict == Verdict::ambiguous);
  CHECK(compare_two(base, base).verdict == Verdict::same);
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
