#include "src/judge/lockstep_rule.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "tests/judge/simulated_lockstep.h"

namespace ptbench {
namespace {

using testing::LockstepSimulation;
using testing::Machine;
using testing::NoiseNumbers;
using testing::Program;

PriorNoise prior_with(double deviation) {
  PriorNoise prior;
  for (const std::string_view name : {kLockstepMedian, kLockstepMean})
    prior.learn(std::string(name), {.standard_deviation = deviation, .degrees_of_freedom = 50});
  return prior;
}

std::vector<LockstepPair> pairs_of(const std::vector<double>& changes) {
  std::vector<LockstepPair> pairs;
  for (const double change : changes)
    pairs.push_back({.lockstep = std::to_string(pairs.size()),
                     .quads = 6,
                     .median = change,
                     .mean = change,
                     .base_log_time = std::log(0.006)});
  return pairs;
}

/// With means that change by `mean_change` where medians change by 0, both without noise.
std::vector<LockstepPair> apart(double median_change, double mean_change) {
  std::vector<LockstepPair> pairs = pairs_of(std::vector<double>(14, median_change));
  for (LockstepPair& pair : pairs) pair.mean = mean_change;
  return pairs;
}

Verdict verdict_of(const std::vector<LockstepPair>& pairs, double detect = 0.05) {
  return judge(pairs, {.detect = detect}, PriorNoise()).verdict;
}

/// What a command does that adds pairs until there is a verdict.
LockstepJudgement gate(LockstepSimulation& simulation, const Program& fresh,
                       const LockstepRule& rule, const PriorNoise& prior) {
  std::vector<LockstepPair> pairs;
  LockstepJudgement judgement;
  for (auto look = next_look(rule, 0); look; look = next_look(rule, *look)) {
    while (std::ssize(pairs) < *look) {
      SamplesRecord base;
      SamplesRecord of_new;
      simulation.add_pair(Program(), fresh, base, of_new, rule.palindromes);
      pairs.push_back(lockstep_pairs(base, of_new).at(0));
    }
    judgement = judge(pairs, rule, prior);
    if (judgement.verdict != Verdict::ambiguous) break;
  }
  return judgement;
}

/// Verdicts of many gates.
struct Tally {
  Size same = 0;
  Size slower = 0;
  Size faster = 0;
  Size ambiguous = 0;

  [[nodiscard]] Size wrong() const { return slower + faster; }  ///< of equal programs
};

Tally tally(const Machine& machine, const Program& fresh, const LockstepRule& rule, Size gates,
            const PriorNoise& prior = PriorNoise()) {
  Tally tally;
  for (Size number = 0; number < gates; ++number) {
    LockstepSimulation simulation(machine, static_cast<std::uint64_t>(number) * 7919 + 1);
    switch (gate(simulation, fresh, rule, prior).verdict) {
      case Verdict::same: ++tally.same; break;
      case Verdict::slower: ++tally.slower; break;
      case Verdict::faster: ++tally.faster; break;
      default: ++tally.ambiguous;
    }
  }
  return tally;
}

std::vector<Size> looks_of(const LockstepRule& rule) {
  std::vector<Size> all;
  for (auto look = next_look(rule, 0); look; look = next_look(rule, *look)) all.push_back(*look);
  return all;
}

constexpr LockstepRule kRule{.detect = 0.05, .max_pairs = 14};

Program slowed(double share) { return {.seconds = Program().seconds * (1 + share)}; }

}  // namespace

TEST_CASE("looks are planned up to the most pairs", "[measure]") {
  const auto looks = [](Size max_pairs) {
    return looks_of({.detect = 0.05, .max_pairs = max_pairs});
  };
  CHECK(looks(14) == std::vector<Size>{6, 8, 10, 14});
  CHECK(looks(12) == std::vector<Size>{6, 8, 10, 12});
  CHECK(looks(60) == std::vector<Size>{6, 8, 10, 14, 20, 28, 40, 56, 60});
  CHECK(looks(4) == std::vector<Size>{4});
  CHECK(next_look({.detect = 0.05, .max_pairs = 14}, 7) == 8);
  CHECK_FALSE(next_look({.detect = 0.05, .max_pairs = 14}, 15).has_value());
  CHECK_THROWS_AS(next_look({}, 3), Defect);
}

TEST_CASE("a gate for small changes measures more and shorter pairs", "[measure]") {
  CHECK(looks_of(gate_rule(0.05, {})) == std::vector<Size>{6, 8, 10, 14});
  CHECK(looks_of(gate_rule(0.02, {})) == std::vector<Size>{6, 8, 10, 14});
  CHECK(looks_of(gate_rule(0.01, {})) == std::vector<Size>{14, 20, 28});
  CHECK(looks_of(gate_rule(0.01, 40)) == std::vector<Size>{14, 20, 28, 40});
  CHECK(looks_of(gate_rule(0.01, 9)) == std::vector<Size>{9});
  CHECK(gate_rule(0.01, {}).palindromes < gate_rule(0.05, {}).palindromes);
}

TEST_CASE("the error is divided among looks and statistics", "[measure]") {
  const std::vector<LockstepPair> pairs = pairs_of(std::vector<double>(6, 0.0));
  CHECK(judge(pairs, {}, PriorNoise()).level == Approx(1 - 0.001));
  CHECK(judge(pairs, kRule, PriorNoise()).level == Approx(1 - 0.00025));
  CHECK(judge(pairs, {.detect = 0.05, .max_pairs = 40}, PriorNoise()).level ==
        Approx(1 - 0.002 / 14));
  CHECK_THROWS_AS(judge(pairs_of({0, 0}), kRule, PriorNoise()), Defect);
}

TEST_CASE("pairs are estimated by their trimmed mean and winsorised variance", "[measure]") {
  // By hand: 2 of 10 are trimmed on either side, and become 0.02 and 0.05.
  const std::vector<LockstepPair> pairs =
      pairs_of({0.9, 0.03, 0.05, 0.02, -0.7, 0.04, 0.06, 0.01, 0.025, 0.045});
  const double centre = (0.02 + 0.025 + 0.03 + 0.04 + 0.045 + 0.05) / 6;
  // Σ(x − x̄)² of 0.02 ×3, 0.025, 0.03, 0.04, 0.045, 0.05 ×3 is 0.0016.
  const double deviation = std::sqrt(10 * 0.0016 / (6 * 5));
  SECTION("with its own degrees of freedom where it is unusual") {
    std::vector<LockstepPair> doubled = pairs;
    for (LockstepPair& pair : doubled) pair.median *= 2;
    const LockstepJudgement judgement = judge(doubled, {}, prior_with(0.014));
    CHECK(judgement.median.estimate == Approx(2 * centre));
    CHECK(judgement.median.spread.unusual);
    CHECK(judgement.median.spread.standard_deviation == Approx(2 * deviation));
    CHECK(judgement.median.spread.degrees_of_freedom == 5);
    CHECK(judgement.median.half_width ==
          Approx(t_quantile(0.9995, 5) * 2 * deviation / std::sqrt(10)));
  }
  SECTION("drawn to what is usual") {
    const LockstepJudgement judgement = judge(pairs, {}, prior_with(0.02));
    CHECK_FALSE(judgement.mean.spread.unusual);
    CHECK(judgement.mean.spread.degrees_of_freedom == 9);
    CHECK(judgement.mean.spread.standard_deviation ==
          Approx(std::sqrt((4 * 0.0004 + 5 * deviation * deviation) / 9)));
  }
  SECTION("which is never less than what is expected of an unknown host") {
    CHECK(judge(pairs, {}, prior_with(0.001)).median.usual == 0.01);
  }
  SECTION("fewer than six pairs are not trimmed") {
    const std::vector<LockstepPair> few = pairs_of({0.01, 0.02, 0.06});
    CHECK(judge(few, {}, PriorNoise()).median.estimate == Approx(0.03));
    CHECK(judge(few, {}, PriorNoise()).median.spread.degrees_of_freedom == 6);
  }
}

TEST_CASE("slower is what is slower by the median or the mean", "[measure]") {
  CHECK(verdict_of(apart(0, 0)) == Verdict::same);
  CHECK(verdict_of(apart(0.05, 0.05)) == Verdict::slower);
  CHECK(verdict_of(apart(-0.05, -0.05)) == Verdict::faster);
  CHECK(verdict_of(apart(0, 0.12)) == Verdict::slower);
  CHECK(verdict_of(apart(0.12, 0)) == Verdict::slower);
  CHECK(verdict_of(apart(0, -0.12)) == Verdict::faster);
  CHECK(verdict_of(apart(0.12, -0.12)) == Verdict::ambiguous);
  CHECK(verdict_of(apart(-0.12, 0.12)) == Verdict::ambiguous);
  CHECK(verdict_of(apart(0.024, 0.024)) == Verdict::same);
  CHECK(verdict_of(apart(0.026, 0)) == Verdict::slower);
  CHECK(verdict_of(apart(0.004, 0), 0.01) == Verdict::ambiguous);
}

TEST_CASE("a judgement knows which statistic decided", "[measure]") {
  const auto decided_by = [](const std::vector<LockstepPair>& pairs, double detect = 0.05) {
    return judge(pairs, {.detect = detect}, PriorNoise()).decided_by;
  };
  CHECK(decided_by(apart(0, 0)) == Statistic::median);
  CHECK(decided_by(apart(0.12, 0.12)) == Statistic::median);
  CHECK(decided_by(apart(0.12, 0)) == Statistic::median);
  CHECK(decided_by(apart(0, 0.12)) == Statistic::mean);
  CHECK(decided_by(apart(0, -0.12)) == Statistic::mean);
  CHECK(decided_by(apart(0.12, -0.12)) == Statistic::median);
  CHECK(decided_by(apart(0, 0.006), 0.01) == Statistic::mean);
}

TEST_CASE("an ambiguous judgement tells why, and what helps", "[measure]") {
  const auto reason = [](const std::vector<LockstepPair>& pairs, double detect) {
    return judge(pairs, {.detect = detect, .max_pairs = 14}, PriorNoise()).reason;
  };
  CHECK(reason(apart(0, 0), 0.05).empty());
  CHECK(reason(apart(0, 0), 0.002) ==
        "the median changes by 0.00 %, with an interval of -0.74 % to 0.74 %: not within ±0.20 % "
        "after 14 pairs: use a larger --max-pairs");
  CHECK(reason(apart(0, 0.006), 0.01) ==
        "the mean changes by 0.60 %, with an interval of -0.14 % to 1.35 %: there may be no change "
        "after 14 "
        "pairs: use a larger --max-pairs");
  CHECK(reason(apart(-0.12, 0.12), 0.05) ==
        "the median is faster by 11.3 %, but the mean slower by 12.7 %: see the percentiles");
}

TEST_CASE("all intervals of a measurement cover the truth together", "[measure]") {
  constexpr Size kMeasurements = 10'000;
  constexpr double kTruth = 0.03;
  constexpr double kDeviation = 0.02;
  const auto shape = GENERATE(as<std::string>(), "normal", "heavy", "wild");
  // What was learnt on a quiet host is too little on a busy one, and covers 99 % all the same.
  const auto usual = GENERATE(0.02, 0.01);
  NoiseNumbers noise(17);
  const auto draw = [&] {
    if (shape == "heavy") return noise.heavy();
    return noise.normal() + (shape == "wild" && noise.uniform() < 0.1 ? 20 : 0);
  };
  Size missed = 0;
  for (Size measurement = 0; measurement < kMeasurements; ++measurement) {
    std::vector<LockstepPair> pairs = pairs_of(std::vector<double>(14, kTruth));
    for (LockstepPair& pair : pairs) {
      pair.median += kDeviation * draw();
      pair.mean = pair.median + 0.3 * kDeviation * noise.normal();
    }
    bool misses = false;
    for (auto look = next_look(kRule, 0); look; look = next_look(kRule, *look)) {
      const LockstepJudgement judgement =
          judge(std::span(pairs).first(static_cast<std::size_t>(*look)), kRule, prior_with(usual));
      for (const LockstepChange& change : {judgement.median, judgement.mean})
        misses = misses || std::abs(change.estimate - kTruth) > change.half_width;
    }
    missed += misses ? 1 : 0;
  }
  CAPTURE(shape, usual);
  CHECK(missed <= kMeasurements * (usual < kDeviation ? 10 : 2) / 1000);
}

TEST_CASE("gates hold on a machine whose speed changes", "[measure]") {
  SECTION("equal programs are the same") {
    const Tally equal = tally({}, Program(), kRule, 3000);
    CHECK(equal.wrong() == 0);
    CHECK(equal.ambiguous <= 15);
  }
  SECTION("and seldom different where less matters than the machine can tell") {
    const Tally equal = tally({}, Program(), gate_rule(0.01, {}), 2000);
    CHECK(equal.wrong() <= 10);
  }
  SECTION("also where it was learnt in a quieter hour") {
    CHECK(tally({}, Program(), gate_rule(0.01, {}), 2000, prior_with(0.005)).wrong() <= 10);
  }
  SECTION("5 % is found") { CHECK(tally({}, slowed(0.05), kRule, 1000).slower >= 990); }
  SECTION("and where one is faster by it") {
    CHECK(tally({}, slowed(-0.05), kRule, 1000).faster >= 990);
  }
  SECTION("3 % is found where it is asked for") {
    const LockstepRule rule{.detect = 0.03, .max_pairs = 14};
    CHECK(tally({}, slowed(0.03), rule, 300).slower >= 285);
    const Tally equal = tally({}, Program(), rule, 300);
    CHECK(equal.wrong() == 0);
    CHECK(equal.ambiguous <= 6);
  }
  SECTION("1 % is found on a quiet machine") {
    const Machine quiet{.slowest = 0.02, .burst_share = 0, .process_deviation = 0.0035};
    const LockstepRule rule = gate_rule(0.01, {});
    CHECK(tally(quiet, slowed(0.01), rule, 300).slower >= 294);
    CHECK(tally(quiet, slowed(0.01), rule, 300, prior_with(0.005)).slower >= 294);
    CHECK(tally(quiet, Program(), rule, 300, prior_with(0.005)).wrong() == 0);
  }
  SECTION("slow steps are found by the mean, rare ones too") {
    const Program slow =
        GENERATE(Program{.every = 3, .slow_step = 1.4}, Program{.every = 15, .slow_step = 4},
                 Program{.every = 50, .slow_step = 11});
    CAPTURE(slow.every);
    CHECK(tally({}, slow, kRule, 200).slower >= 196);
  }
}

TEST_CASE("gates hold where processes are unsteady", "[measure]") {
  const auto machine = GENERATE(Machine{.process_deviation = 0.01}, Machine{.wild_share = 0.1},
                                Machine{.drift_per_second = 0.001});
  CAPTURE(machine.process_deviation, machine.wild_share, machine.drift_per_second);
  const Tally equal = tally(machine, Program(), kRule, 1000);
  CHECK(equal.wrong() <= 2);
  CHECK(equal.ambiguous <= 50);
  CHECK(tally(machine, slowed(0.05), kRule, 300).slower >= 291);
}

TEST_CASE("what more of a turn's start is discarded does not move the estimate", "[measure]") {
  Program fresh = slowed(0.03);
  fresh.first_steps = 2 * Program().first_steps;  // it wakes up more slowly
  const auto judged = [&](Size discarded) {
    LockstepSimulation simulation({}, 23);
    SamplesRecord of_base;
    SamplesRecord of_new;
    for (int pair = 0; pair < 60; ++pair)
      simulation.add_pair(Program(), fresh, of_base, of_new, 20, discarded);
    return judge_lockstep(of_base, of_new, 0.05, PriorNoise()).value();
  };
  const LockstepJudgement once = judged(2);
  const LockstepJudgement twice = judged(4);
  CHECK(once.pairs == 60);
  CHECK(std::abs(once.median.estimate - twice.median.estimate) < 0.002);
  CHECK(std::abs(once.mean.estimate - twice.mean.estimate) < 0.004);
  CHECK(judged(0).mean.estimate > once.mean.estimate + 0.02);
}

TEST_CASE("all processes slower than all of the others is slower, however they scatter",
          "[measure]") {
  const std::vector<LockstepPair> erratic = pairs_of({0.24, 0.24, 0.28, 0.5, 0.5});
  const LockstepJudgement judgement = judge(erratic, {.detect = 0.05}, PriorNoise());
  CHECK(judgement.median.half_width > judgement.median.estimate);
  CHECK(judgement.verdict == Verdict::slower);
  CHECK(judgement.p_value == Approx(2.0 / 252));
  REQUIRE(judgement.gap.has_value());
  CHECK(*judgement.gap == Approx(0.24));
  CHECK(judgement.reason.find("all 5 processes of NEW are slower") != std::string::npos);
  // Gates add pairs instead, and four processes a side come apart by chance.
  CHECK(judge(erratic, kRule, PriorNoise()).verdict == Verdict::ambiguous);
  CHECK(verdict_of(pairs_of({0.24, 0.25, 0.37, 0.37})) == Verdict::ambiguous);
  CHECK(verdict_of(pairs_of({0.01, 0.25, 0.26, 0.37, 0.37})) == Verdict::ambiguous);
}

TEST_CASE("a verdict tells how often equal programs get it", "[measure]") {
  const std::vector<LockstepPair> clear = pairs_of({0.05, 0.055, 0.06, 0.05, 0.06, 0.055});
  CHECK(judge(clear, {.detect = 0.05}, PriorNoise()).p_value < 0.001);
  CHECK(judge(apart(0, 0), {.detect = 0.05}, PriorNoise()).p_value == 1);
  const LockstepChange change = judge(clear, {.detect = 0.05}, PriorNoise()).median;
  const double edge = change.half_width / change.estimate;  // where the interval begins to hold 0
  std::vector<LockstepPair> barely = clear;
  for (LockstepPair& pair : barely) {
    pair.median -= (1 - 1.0001 * edge) * change.estimate;
    pair.mean = 0;
  }
  CHECK(judge(barely, {.detect = 0.03}, PriorNoise()).p_value == Approx(0.01).epsilon(0.01));
}

TEST_CASE("who judges a gate's pairs again counts the looks that were planned", "[measure]") {
  LockstepSimulation simulation({}, 5);
  SamplesRecord base;
  SamplesRecord fresh;
  for (int pair = 0; pair < 6; ++pair) simulation.add_pair(Program(), Program(), base, fresh);
  const auto level = [&] { return judge_lockstep(base, fresh, 0.05, PriorNoise()).value().level; };
  CHECK(level() == Approx(1 - 0.001));
  fresh.max_pairs = 14;
  CHECK(level() == Approx(1 - 0.00025));
  base.max_pairs = 40;
  CHECK(level() == Approx(1 - 0.002 / 14));
  base.first_look = fresh.first_look = 14;
  CHECK(level() == Approx(1 - 0.002 / 8));
  base.max_pairs = fresh.max_pairs = 4;  // two gates' files
  CHECK(level() == Approx(1 - 0.001));
}

TEST_CASE("samples of fewer than three pairs are not judged", "[measure]") {
  LockstepSimulation simulation({}, 5);
  SamplesRecord base;
  SamplesRecord fresh;
  simulation.add_pair(Program(), Program(), base, fresh);
  simulation.add_pair(Program(), Program(), base, fresh);
  CHECK_FALSE(judge_lockstep(base, fresh, 0.05, PriorNoise()).has_value());
  simulation.add_pair(Program(), Program(), base, fresh);
  CHECK(judge_lockstep(base, fresh, 0.05, PriorNoise()).value().verdict == Verdict::same);
  fresh.repetitions[1].lockstep.reset();
  CHECK_FALSE(judge_lockstep(base, fresh, 0.05, PriorNoise()).has_value());
}

TEST_CASE("a host's spread of pairs is learnt, whatever the change", "[measure]") {
  NoiseNumbers noise(3);
  const auto measured = [&](double change, double deviation) {
    std::vector<LockstepPair> pairs = pairs_of(std::vector<double>(6, change));
    for (LockstepPair& pair : pairs) {
      pair.median += deviation * noise.normal();
      pair.mean += 1.5 * deviation * noise.normal();
    }
    return pairs;
  };
  const std::string by_median(kLockstepMedian);
  const std::string by_mean(kLockstepMean);
  PriorNoise known;
  known.learn("near", {.standard_deviation = 0.3, .degrees_of_freedom = 4});

  const std::vector<LockstepPair> first = measured(0.05, 0.006);
  PriorNoise learnt = learn(first, known);
  CHECK(learnt.classes().size() == 2);
  CHECK(learnt.classes().at(by_median).degrees_of_freedom == 3);
  // Judged, 1 % counts as 4 degrees of freedom beside the pairs' 3; learnt from, as 10.
  const double judged = judge(first, {}, PriorNoise()).median.spread.standard_deviation;
  CHECK(learnt.of(by_median) == Approx(std::sqrt((6 * 1e-4 + 7 * judged * judged) / 13)));
  for (int measurement = 0; measurement < 150; ++measurement)
    learnt = learn(measured(0.05, 0.006), learnt);
  CHECK(learnt.of(by_median) == Approx(0.006).epsilon(0.15));
  CHECK(learnt.of(by_mean) == Approx(0.009).epsilon(0.15));
  CHECK(learnt.classes().at(by_median).degrees_of_freedom == 203);
  for (int measurement = 0; measurement < 150; ++measurement)
    learnt = learn(measured(0, 0.012), learnt);
  CHECK(learnt.of(by_median) == Approx(0.012).epsilon(0.15));

  CHECK(learn(pairs_of({0.01, 0.02}), learnt).classes().empty());
  CHECK(learn(pairs_of({0, 0.1, 0.2, -0.1, 0.2, -0.2}), learnt).classes().empty());
}

TEST_CASE("after a look without a verdict, it is told at which one to expect it", "[measure]") {
  const auto rule = [](Size most) { return LockstepRule{.detect = 0.05, .max_pairs = most}; };
  const auto expected = [&](const std::vector<double>& changes, Size most) {
    const LockstepJudgement judged = judge(pairs_of(changes), rule(most), PriorNoise());
    REQUIRE(judged.verdict == Verdict::ambiguous);
    return expected_pairs(judged, rule(most));
  };
  const std::vector<double> noisy{0.03, -0.03, 0.02, -0.02, 0.04, -0.04};
  CHECK_FALSE(expected(noisy, 14));
  const auto later = expected(noisy, 1000);
  REQUIRE(later);
  CHECK(*later > 14);
  // So many of them do bring it, and fewer do not.
  const auto repeated = [&](Size pairs) {
    std::vector<double> changes;
    for (Size at = 0; at < pairs; ++at)
      changes.push_back(noisy[static_cast<std::size_t>(at) % noisy.size()]);
    return judge(pairs_of(changes), rule(1000), PriorNoise()).verdict;
  };
  CHECK(repeated(2 * *later) == Verdict::same);
  CHECK(repeated(*later / 2) == Verdict::ambiguous);
  // A change that is clear enough shows soon.
  const auto soon = expected({0.02, 0.1, 0.06, 0.08, 0.04, 0.12}, 40);
  REQUIRE(soon);
  CHECK(*soon <= 20);
}

}  // namespace ptbench
