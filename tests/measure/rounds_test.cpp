// Sides that were measured in turn, and what their rounds tell.
#include "src/measure/rounds.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "src/measure/comparison.h"
#include "src/measure/log_change.h"
#include "tests/measure/simulated_runs.h"

namespace ptbench {
namespace {

using testing::NormalNumbers;
using testing::Process;
using testing::run_of;

SamplesRecord samples_of(const std::vector<Process>& processes) {
  return run_of(processes).samples;
}

RunComparison compare_two(const RunRecord& base, const RunRecord& fresh,
                          const CompareOptions& options = {}) {
  ResultFile base_file;
  base_file.runs = {base};
  ResultFile new_file;
  new_file.runs = {fresh};
  return compare({&base_file, 1}, {&new_file, 1}, options, PriorNoise()).runs.at(0);
}

/// Rounds a minute apart, NEW right after BASE.
struct Sides {
  RunRecord base = run_of({});
  RunRecord fresh = run_of({});
  double time = 1e9;

  void add_round(double base_seconds, double new_seconds, const std::string& placement = "near") {
    testing::add_process({.seconds = base_seconds, .placement = placement, .started = time},
                         base.samples);
    testing::add_process({.seconds = new_seconds, .placement = placement, .started = time + 2},
                         fresh.samples);
    time += 60;
  }
};

/// What processes of a round have in common, and what each has for itself.
struct Noise {
  double round = 0.02;
  double process = 0.006;
};

Sides simulate(const Noise& noise, double change, NormalNumbers& normal) {
  Sides sides;
  for (int round = 0; round < 5; ++round) {
    const double slow = noise.round * normal();
    const double base = slow + noise.process * normal();
    const double fresh = slow + noise.process * normal();
    sides.add_round(0.006 * std::exp(base), 0.006 * std::exp(change + fresh));
  }
  return sides;
}

}  // namespace

TEST_CASE("neighbours in time of either side are a round", "[measure]") {
  const SamplesRecord first = samples_of({{.seconds = 1, .started = 10},
                                          {.seconds = 2, .started = 40},
                                          {.seconds = 3, .started = 50}});
  const SamplesRecord second =
      samples_of({{.seconds = 7, .started = 60}, {.seconds = 5, .started = 20}});
  const std::vector<Round> rounds = rounds_of(first, second);
  REQUIRE(rounds.size() == 2);
  CHECK(rounds[0].placement == "near");
  CHECK(std::exp(rounds[0].base_log_time) == Approx(1));
  CHECK(std::exp(rounds[0].new_log_time) == Approx(5));
  CHECK(std::exp(rounds[1].base_log_time) == Approx(3));  // nearer to NEW's last than the other
  CHECK(std::exp(rounds[1].new_log_time) == Approx(7));
  // Whichever side comes first.
  const std::vector<Round> turned = rounds_of(second, first);
  REQUIRE(turned.size() == 2);
  CHECK(turned[0].base_log_time == rounds[0].new_log_time);
}

TEST_CASE("a side that was measured after the other shares one round with it", "[measure]") {
  CHECK(rounds_of(samples_of({{.started = 1}, {.started = 2}, {.started = 3}}),
                  samples_of({{.started = 4}, {.started = 5}, {.started = 6}}))
            .size() == 1);
}

TEST_CASE("unclean repetitions, unlike placements and unknown times make no round", "[measure]") {
  const SamplesRecord base = samples_of({{.started = 1}});
  CHECK(rounds_of(base, samples_of({{.started = 2}})).size() == 1);
  CHECK(rounds_of(base, samples_of({{.clean = false, .started = 2}})).empty());
  CHECK(rounds_of(base, samples_of({{.placement = "far", .started = 2}})).empty());
  CHECK(rounds_of(base, samples_of({{}})).empty());
  CHECK(rounds_of(base, samples_of({})).empty());
  // The partner is not looked for elsewhere: the next repetition has one of its own.
  CHECK(rounds_of(samples_of({{.started = 1}, {.started = 3}}),
                  samples_of({{.clean = false, .started = 2}, {.started = 4}}))
            .size() == 1);
}

TEST_CASE("the change of rounds and its interval, by hand", "[measure]") {
  Sides sides;
  for (const double slow : {1.0, 1.2, 1.4})  // far beyond what is usual
    sides.add_round(0.006 * slow, 0.006 * 1.1 * slow);
  const RunComparison run = compare_two(sides.base, sides.fresh);
  const double half = 3.05454 * std::sqrt(10 * 2e-4 / 12 / 3);  // t(0.995, 12)
  CHECK(run.verdict == Verdict::slower);
  CHECK(run.rounds == 3);
  CHECK(run.change.value() == Approx(0.1));
  CHECK(run.change_ci99->low == Approx(1.1 * std::exp(-half) - 1).epsilon(1e-5));
  CHECK(run.change_ci99->high == Approx(1.1 * std::exp(half) - 1).epsilon(1e-5));
  CHECK(run.base_seconds.value() == Approx(0.006 * std::cbrt(1.2 * 1.4)));
}

TEST_CASE("means tell more than rounds that have nothing in common", "[measure]") {
  Sides sides;
  for (int round = 0; round < 3; ++round) sides.add_round(0.006, 0.006);
  const RunComparison run = compare_two(sides.base, sides.fresh);
  CHECK(run.verdict == Verdict::same);
  CHECK(run.rounds == 0);
}

TEST_CASE("rounds in several placements are told together", "[measure]") {
  Sides sides;
  sides.add_round(0.006, 0.0063);
  sides.add_round(0.008, 0.0084, "far");
  sides.add_round(0.008, 0.0084, "far");
  const RunComparison run = compare_two(sides.base, sides.fresh);
  CHECK(run.rounds == 3);
  CHECK(run.verdict == Verdict::slower);
  CHECK(run.change.value() == Approx(0.05));
  CHECK(run.base_seconds.value() == Approx(0.008));
}

TEST_CASE("rounds that differ beyond the usual are ambiguous", "[measure]") {
  Sides sides;
  sides.add_round(0.006, 0.006);
  sides.add_round(0.006, 0.007);
  sides.add_round(0.007, 0.006);
  const RunComparison run = compare_two(sides.base, sides.fresh);
  CHECK(run.verdict == Verdict::ambiguous);
  CHECK(run.reason.find("run-to-run spread") != std::string::npos);
}

TEST_CASE("what slows whole rounds down hides no change and makes none", "[measure]") {
  NormalNumbers normal(7);
  constexpr int kRuns = 2000;
  int same = 0;
  int slower = 0;
  int covered = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Sides equal = simulate({}, 0, normal);
    same += compare_two(equal.base, equal.fresh).verdict == Verdict::same ? 1 : 0;
    const Sides changed = simulate({}, std::log1p(0.05), normal);
    const RunComparison found = compare_two(changed.base, changed.fresh);
    slower += found.verdict == Verdict::slower ? 1 : 0;
    covered += found.change_ci99->low <= 0.05 && 0.05 <= found.change_ci99->high ? 1 : 0;
  }
  CHECK(same == kRuns);
  CHECK(slower == kRuns);
  CHECK(covered > 0.99 * kRuns);
}

TEST_CASE("choosing the narrower interval misses the truth hardly more often", "[measure]") {
  NormalNumbers normal(11);
  constexpr int kRuns = 10000;
  int missed = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Sides sides = simulate({.round = 0, .process = 0.01}, 0, normal);
    const RunComparison found = compare_two(sides.base, sides.fresh);
    missed += found.change_ci99->low > 0 || found.change_ci99->high < 0 ? 1 : 0;
  }
  CHECK(missed < 0.011 * kRuns);
}

}  // namespace ptbench
