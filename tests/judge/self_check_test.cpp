#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "src/judge/comparison.h"
#include "tests/judge/simulated_runs.h"

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
  check.degrees_of_freedom = repetitions - 1;
  check.standard_deviation = standard_deviation;
  check.median_deviation = standard_deviation;
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
  const PriorNoise learnt = learn(checks);
  const double near = (10 * 1e-4 + 4 * 3.6e-5 + 10 * 6.4e-5) / 24;
  CHECK(learnt.of("near") == Approx(std::sqrt(near)));
  CHECK(learnt.classes().at("near").degrees_of_freedom == 14);
  CHECK(learnt.of("far") == Approx(std::sqrt((10 * 1e-4 + 2 * 2.25e-4) / 12)));
  CHECK(learnt.of("one_core") == PriorNoise::kUnlearnt);
}

TEST_CASE("what a self-check learns does not depend on what was learnt before", "[measure]") {
  const RunRecord run = run_of_seconds({0.006, 0.00606, 0.00597, 0.00603, 0.006});
  const PriorNoise once = learn(check_runs({run}));
  const PriorNoise twice = learn(check_runs({run}, once));
  CHECK(twice.of("near") == once.of("near"));
  CHECK(twice.classes().at("near").degrees_of_freedom == 4);
}

TEST_CASE("an unusual spread is told and not learnt", "[measure]") {
  const auto wild = [](double deviation, const std::string& placement) {
    return run_of_seconds({0.006 * std::exp(-deviation), 0.006, 0.006 * std::exp(deviation)},
                          placement);
  };
  RunRecord far = wild(0.029, "far");
  far.id = "far run";
  const auto checks = check_runs({wild(0.031, "near"), far});
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].unusual);
  CHECK(std::isinf(checks[0].resolvable_with_10));
  CHECK_FALSE(checks[1].unusual);
  CHECK(checks[1].resolvable_with_3 < 0.15);
  const PriorNoise learnt = learn(checks);
  CHECK(learnt.classes().size() == 1);
  CHECK(learnt.of("far") > PriorNoise::kUnlearnt);
  // Not even on a machine that learnt to be so.
  CHECK(check_runs({wild(0.031, "near")}, learnt).at(0).unusual);
}

TEST_CASE("no change beyond what --detect can be set to is resolved", "[measure]") {
  PriorNoise wild;
  wild.learn("near", {.standard_deviation = 0.3, .degrees_of_freedom = 9});
  const auto checks = check_runs({run_of_seconds({0.006, 0.00606, 0.00597})}, wild);
  CHECK(std::isinf(checks.at(0).resolvable_with_3));
  CHECK(checks.at(0).resolvable_with_10 < 1);
}

TEST_CASE("repetitions of unlike circumstances are groups of their own", "[measure]") {
  std::vector<ResultFile> files(4);
  for (std::size_t index = 0; index < files.size(); ++index) {
    const double seconds = 0.006 * (1 + 0.2 * static_cast<double>(index));
    files[index].runs = {run_of_seconds(
        {seconds * std::exp(-0.01), seconds, seconds, seconds, seconds, seconds * std::exp(0.01)})};
  }
  files[1].generator.git_commit = "b";
  files[2].runs[0].strategy.plan_hash = "b2";
  files[3].runs[0].strategy.threads = 1;
  const auto checks = self_check(files, {}, {});
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].repetitions == 24);
  CHECK(checks[0].groups == 4);
  CHECK(checks[0].degrees_of_freedom == 20);
  CHECK(checks[0].standard_deviation == Approx(std::sqrt(2e-4 / 5)));
  CHECK(checks[0].splits == 80);
  CHECK(checks[0].false_alarm_rate == 0);
}

TEST_CASE("many files of one repetition are a group", "[measure]") {
  std::vector<ResultFile> files(12);
  for (std::size_t index = 0; index < files.size(); ++index) {
    files[index].runs = {run_of_seconds({index % 2 == 0 ? 0.006 : 0.0072})};
    files[index].environment.cpu.model = index % 2 == 0 ? "A" : "B";
  }
  const auto checks = self_check(files, {}, {});
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].repetitions == 12);
  CHECK(checks[0].groups == 2);
  CHECK(checks[0].standard_deviation == Approx(0).margin(1e-9));
  CHECK(checks[0].splits == 40);
}

TEST_CASE("a self-check leaves out what was slowed, failed or is too little", "[measure]") {
  RunRecord slowed = run_of_seconds({0.006, 0.006, 0.006});
  slowed.samples.slowdown = 0.05;
  CHECK(check_runs({slowed}).empty());
  RunRecord failed = run_of_seconds({0.006, 0.006, 0.006});
  failed.status = Status::failed;
  CHECK(check_runs({failed}).empty());
  std::vector<ResultFile> files(2);
  files[0].runs = {run_of_seconds({0.006, 0.006})};
  files[1].runs = {run_of_seconds({0.006, 0.006})};
  files[1].generator.git_commit = "b";
  CHECK(self_check(files, {}, {}).empty());
}

TEST_CASE("many quiet repetitions make a quiet machine", "[measure]") {
  const std::vector<SelfCheck> checks{check_of(1001, 0.002)};
  CHECK(learn(checks).of("near") == Approx(0.002).epsilon(0.15));
}

}  // namespace ptbench
