#include "src/measure/stop_rule.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

namespace ptbench {

TEST_CASE("a fixed number of steps counts steps, not samples", "[measure]") {
  FixedSteps rule(100);
  const std::vector<double> samples(99, 0.001);
  CHECK_FALSE(rule.should_stop({samples, 99, 1000}));
  CHECK(rule.should_stop({std::span(samples).first(2), 100, 0}));
  CHECK(rule.reason() == StopReason::steps);
  CHECK(rule.limits().steps == 100);
  CHECK(FixedSteps(7, StopReason::epochs).reason() == StopReason::epochs);
}

TEST_CASE("a fixed number of samples counts samples", "[measure]") {
  FixedSamples rule(3);
  const std::vector<double> samples(3, 0.001);
  CHECK_FALSE(rule.should_stop({std::span(samples).first(2), 1000, 1000}));
  CHECK(rule.should_stop({samples, 3, 0}));
  CHECK(rule.limits().samples == 3);
  CHECK(rule.limits().steps == Limits::kUnlimited);
}

TEST_CASE("a time limit ends another rule and says why", "[measure]") {
  TimeLimit rule(std::make_unique<FixedSamples>(3), 30);
  const std::vector<double> samples(3, 0.001);
  CHECK_FALSE(rule.should_stop({std::span(samples).first(1), 1, 29.9}));
  CHECK(rule.should_stop({std::span(samples).first(2), 2, 30}));
  CHECK(rule.reason() == StopReason::max_time);
  CHECK(rule.limits().samples == 3);
  CHECK(rule.limits().seconds == 30);
}

TEST_CASE("the other rule's reason wins when both agree", "[measure]") {
  TimeLimit rule(std::make_unique<FixedSamples>(3), 30);
  CHECK(rule.should_stop({std::vector(3, 0.001), 3, 31}));
  CHECK(rule.reason() == StopReason::steps);
}

TEST_CASE("of two time limits the smaller holds", "[measure]") {
  TimeLimit rule(std::make_unique<TimeLimit>(std::make_unique<FixedSamples>(3), 10), 30);
  CHECK(rule.limits().seconds == 10);
}

}  // namespace ptbench
