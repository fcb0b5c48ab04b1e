// Sides that were measured in turn, and what their rounds tell.
#include "src/judge/rounds.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "src/judge/comparison.h"
#include "src/judge/log_change.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::NormalNumbers;
using testing::Process;
using testing::run_of;

SamplesRecord samples_of(const std::vector<Process>& processes) {
  return run_of(processes).samples;
}

RunComparison compare_rounds(const RunRecord& base, const RunRecord& fresh,
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
struct RoundNoise {
  double round = 0.02;
  double process = 0.006;
};

/// Without `change`, both sides are the same program.
Sides simulate(const RoundNoise& noise, Size rounds, double change, NormalNumbers& normal) {
  Sides sides;
  for (Size round = 0; round < rounds; ++round) {
    const double slow = noise.round * normal();
    const double base = slow + noise.process * normal();
    const double fresh = slow + noise.process * normal();
    sides.add_round(0.006 * std::exp(base), 0.006 * std::exp(change + fresh));
  }
  return sides;
}

RunRecord without_times(RunRecord run) {
  for (RepetitionRecord& repetition : run.samples.repetitions) repetition.started_unix_seconds = {};
  return run;
}

std::vector<Round> rounds_of(const SamplesRecord& base, const SamplesRecord& fresh) {
  return ptbench::rounds_of(median_times(base), median_times(fresh));
}

/// Whether a verdict was given on an interval that leaves out the truth, that nothing changed.
bool misleads(const RunComparison& run) {
  const bool leaves_out = run.change_ci99->low > 0 || run.change_ci99->high < 0;
  return leaves_out && run.verdict != Verdict::ambiguous;
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
  const RunComparison run = compare_rounds(sides.base, sides.fresh);
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
  const RunComparison run = compare_rounds(sides.base, sides.fresh);
  CHECK(run.verdict == Verdict::same);
  CHECK(run.rounds == 0);
}

TEST_CASE("rounds in several placements are told together", "[measure]") {
  Sides sides;
  sides.add_round(0.006, 0.0063);
  sides.add_round(0.008, 0.0084, "far");
  sides.add_round(0.008, 0.0084, "far");
  const RunComparison run = compare_rounds(sides.base, sides.fresh);
  CHECK(run.rounds == 3);
  CHECK(run.verdict == Verdict::slower);
  CHECK(run.change.value() == Approx(0.05));
  CHECK(run.base_seconds.value() == Approx(0.008));
}

TEST_CASE("rounds that differ beyond the usual are ambiguous", "[measure]") {
  Sides sides;
  sides.add_round(0.006, 0.006);
  sides.add_round(0.008, 0.010, "far");
  sides.add_round(0.010, 0.008, "far");
  const RunComparison run = compare_rounds(sides.base, sides.fresh);
  CHECK(run.verdict == Verdict::ambiguous);
  CHECK(run.rounds == 3);
  CHECK(run.reason ==
        "within rounds, the spread of 16 % is beyond what this machine usually has (1 %)");
}

TEST_CASE("rounds a day apart, and of two hosts, are none", "[measure]") {
  constexpr double kDay = 86400;
  CHECK(rounds_of(samples_of({{.started = 0}}), samples_of({{.started = kDay}})).empty());

  Sides sides;
  for (const double slow : {1.0, 1.2, 1.4}) sides.add_round(0.006 * slow, 0.006 * slow);
  std::vector<ResultFile> files(2);
  files[0].runs = {sides.base};
  files[1].runs = {sides.fresh};
  const auto compared = [&] {
    return compare({files.data(), 1}, {&files[1], 1}, {}, PriorNoise()).runs.at(0);
  };
  CHECK(compared().rounds == 3);
  files[0].environment.host.name = "one";
  files[1].environment.host.name = "another";
  CHECK(compared().rounds == 0);
  CHECK(compared().verdict == Verdict::ambiguous);
}

TEST_CASE("what slows whole rounds down hides no change and makes none", "[measure]") {
  NormalNumbers normal(7);
  constexpr int kRuns = 2000;
  int same = 0;
  int slower = 0;
  int covered = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Sides equal = simulate({}, 5, 0, normal);
    const Verdict of_equal = compare_rounds(equal.base, equal.fresh).verdict;
    CHECK((of_equal == Verdict::same || of_equal == Verdict::ambiguous));
    same += of_equal == Verdict::same ? 1 : 0;
    const Sides changed = simulate({}, 5, std::log1p(0.05), normal);
    const RunComparison found = compare_rounds(changed.base, changed.fresh);
    CHECK((found.verdict == Verdict::slower || found.verdict == Verdict::ambiguous));
    slower += found.verdict == Verdict::slower ? 1 : 0;
    covered += found.change_ci99->low <= 0.05 && 0.05 <= found.change_ci99->high ? 1 : 0;
  }
  CHECK(same > 0.98 * kRuns);
  CHECK(slower > 0.98 * kRuns);
  CHECK(covered > 0.99 * kRuns);
}

TEST_CASE("rounds mislead hardly more often than means where they share nothing", "[measure]") {
  NormalNumbers normal(11);
  constexpr int kRuns = 4000;
  for (const Size rounds : {3, 5})
    for (const double process : {0.01, 0.02, 0.03}) {
      int by_means = 0;
      int by_either = 0;
      for (int run = 0; run < kRuns; ++run) {
        const Sides sides = simulate({.round = 0, .process = process}, rounds, 0, normal);
        by_either += misleads(compare_rounds(sides.base, sides.fresh)) ? 1 : 0;
        const RunRecord base = without_times(sides.base);
        by_means += misleads(compare_rounds(base, without_times(sides.fresh))) ? 1 : 0;
      }
      CAPTURE(rounds, process, by_means, by_either);
      CHECK(by_either < 1.3 * by_means + 0.002 * kRuns);
    }
}

}  // namespace ptbench
