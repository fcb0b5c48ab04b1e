#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "src/measure/comparison.h"
#include "tests/measure/simulated_runs.h"

namespace ptbench {
namespace {

using testing::NormalNumbers;
using testing::run_of_seconds;
using testing::simulate;

std::vector<SelfCheck> check_runs(std::vector<RunRecord> runs, const PriorNoise& prior = {}) {
  ResultFile file;
  file.runs = std::move(runs);
  return self_check({&file, 1}, {}, prior);
}

SelfCheck check_of(Size repetitions, double standard_deviation,
                   const std::string& placement = "near") {
  SelfCheck check;
  check.placement = placement;
  check.repetitions = repetitions;
  check.standard_deviation = standard_deviation;
  return check;
}

}  // namespace

TEST_CASE("a self-check tells the spread and what it lets see", "[measure]") {
  const RunRecord run = run_of_seconds({0.006 * std::exp(-0.01), 0.006, 0.006 * std::exp(0.01)});
  const auto checks = check_runs({run});
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].id == "run");
  CHECK(checks[0].placement == "near");
  CHECK(checks[0].repetitions == 3);
  CHECK(checks[0].standard_deviation == Approx(0.01));
  CHECK_FALSE(checks[0].false_alarm_rate.has_value());
  CHECK(checks[0].splits == 0);
  // The prior is 1 % as well.
  CHECK(checks[0].resolvable_with_3 == Approx(5.15 * 0.01 * std::sqrt(2.0 / 3)));
  CHECK(checks[0].resolvable_with_5 == Approx(5.15 * 0.01 * std::sqrt(2.0 / 5)));
  CHECK(checks[0].resolvable_with_10 == Approx(5.15 * 0.01 * std::sqrt(2.0 / 10)));
}

TEST_CASE("what a self-check lets see follows the usual noise too", "[measure]") {
  const auto checks = check_runs({run_of_seconds({0.006, 0.006, 0.006})});
  CHECK(checks[0].standard_deviation == Approx(0).margin(1e-12));
  CHECK(checks[0].resolvable_with_3 == Approx(5.15 * std::sqrt(10e-4 / 12) * std::sqrt(2.0 / 3)));
}

TEST_CASE("a self-check has an entry for each run and placement", "[measure]") {
  RunRecord first = run_of_seconds({0.006, 0.006, 0.006});
  for (int repetition = 0; repetition < 4; ++repetition)
    testing::add_process({.seconds = 0.008, .placement = "far"}, first.samples);
  RunRecord second = run_of_seconds({0.006, 0.006, 0.006}, std::nullopt);
  second.id = "second";
  RunRecord third = run_of_seconds({0.006, 0.006});
  third.id = "third";
  const auto checks = check_runs({first, second, third});
  REQUIRE(checks.size() == 3);
  CHECK(checks[0].placement == "far");
  CHECK(checks[0].repetitions == 4);
  CHECK(checks[1].placement == "near");
  CHECK(checks[2].id == "second");
  CHECK(checks[2].placement == "one_core");
}

TEST_CASE("a self-check pools files", "[measure]") {
  std::vector<ResultFile> files(2);
  files[0].runs = {run_of_seconds({0.006, 0.006})};
  files[1].runs = {run_of_seconds({0.006})};
  const auto checks = self_check(files, {}, {});
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].repetitions == 3);
}

TEST_CASE("every split is tried where there are few, 2000 where there are many", "[measure]") {
  NormalNumbers normal(5);
  const auto splits = [&](Size repetitions) {
    const auto checks = check_runs({simulate({.repetitions = repetitions}, normal)});
    CHECK(checks[0].false_alarm_rate.has_value() == (repetitions >= 6));
    return checks[0].splits;
  };
  CHECK(splits(5) == 0);
  CHECK(splits(6) == 20);
  CHECK(splits(7) == 35);
  CHECK(splits(12) == 924);
  CHECK(splits(13) == 1716);
  CHECK(splits(14) == 2000);
  CHECK(splits(200) == 2000);
}

TEST_CASE("quiet repetitions raise no false alarm", "[measure]") {
  NormalNumbers normal(6);
  const auto checks = check_runs({simulate({.deviation = 0.006, .repetitions = 40}, normal)});
  CHECK(checks[0].standard_deviation == Approx(0.006).epsilon(0.3));
  CHECK(checks[0].false_alarm_rate == 0);
}

TEST_CASE("repetitions of two kinds raise false alarms", "[measure]") {
  // Of the 20 splits of six, the two that part the kinds have no spread within their halves.
  const RunRecord run = run_of_seconds({0.006, 0.006, 0.006, 0.0063, 0.0063, 0.0063});
  const auto checks = check_runs({run});
  CHECK(checks[0].false_alarm_rate.value() == Approx(0.1));
}

TEST_CASE("random splits are always the same", "[measure]") {
  NormalNumbers normal(7);
  const RunRecord run = simulate({.deviation = 0.02, .repetitions = 16}, normal);
  const auto first = check_runs({run});
  const auto second = check_runs({run});
  CHECK(first[0].false_alarm_rate == second[0].false_alarm_rate);
}

TEST_CASE("what is learnt is pooled by degrees of freedom", "[measure]") {
  const std::vector<SelfCheck> checks{check_of(5, 0.006), check_of(11, 0.008),
                                      check_of(3, 0.015, "far")};
  const PriorNoise learnt = learn(PriorNoise(), checks);
  const double near = (10 * 1e-4 + 4 * 3.6e-5 + 10 * 6.4e-5) / 24;
  CHECK(learnt.of("near") == Approx(std::sqrt(near)));
  CHECK(learnt.classes().at("near").degrees_of_freedom == 14);
  CHECK(learnt.of("far") == Approx(std::sqrt((10 * 1e-4 + 2 * 2.25e-4) / 12)));
  CHECK(learnt.of("one_core") == PriorNoise::kUnlearnt);
}

TEST_CASE("learning twice is learning from both", "[measure]") {
  const std::vector<SelfCheck> both{check_of(5, 0.006), check_of(11, 0.008)};
  const PriorNoise at_once = learn(PriorNoise(), both);
  const PriorNoise in_turn =
      learn(learn(PriorNoise(), std::span(both).first(1)), std::span(both).subspan(1));
  CHECK(in_turn.of("near") == Approx(at_once.of("near")));
  CHECK(in_turn.classes().at("near").degrees_of_freedom == 14);
}

TEST_CASE("many quiet repetitions make a quiet machine", "[measure]") {
  const std::vector<SelfCheck> checks{check_of(1001, 0.002)};
  CHECK(learn(PriorNoise(), checks).of("near") == Approx(0.002).epsilon(0.15));
}

}  // namespace ptbench
