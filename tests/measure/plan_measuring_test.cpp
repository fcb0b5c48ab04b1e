#include "src/measure/plan_measuring.h"

#include <catch2/catch.hpp>
#include <vector>

#include "src/base/error.h"

namespace ptbench {

TEST_CASE("fixed steps: the warm-up comes before them", "[measure]") {
  const MeasuringPlan plan = plan_measuring({.steps = 100});
  CHECK(plan.config.warmup_steps == 10);
  CHECK(plan.rule->limits().steps == 100);
  CHECK(plan.rule->limits().seconds == std::numeric_limits<double>::infinity());
  CHECK(plan_measuring({.steps = 1, .warmup = 0}).config.warmup_steps == 0);
  CHECK(plan_measuring({.steps = 1, .warmup = 500}).config.warmup_steps == 500);
}

TEST_CASE("fixed epochs: the warm-up is among their steps", "[measure]") {
  const MeasuringPlan plan = plan_measuring({.epoch_steps = 440});
  CHECK(plan.config.warmup_steps == 10);
  CHECK(plan.rule->limits().steps == 430);
  CHECK(plan.rule->reason() == StopReason::epochs);
}

TEST_CASE("few epochs' steps: at most half of them are warm-up", "[measure]") {
  const MeasuringPlan five = plan_measuring({.epoch_steps = 5});
  CHECK(five.config.warmup_steps == 2);
  CHECK(five.rule->limits().steps == 3);
  const MeasuringPlan one = plan_measuring({.epoch_steps = 1});
  CHECK(one.config.warmup_steps == 0);
  CHECK(one.rule->limits().steps == 1);
}

TEST_CASE("a warm-up that leaves nothing of the epochs is refused", "[measure]") {
  CHECK(plan_measuring({.epoch_steps = 20, .warmup = 19}).rule->limits().steps == 1);
  CHECK_THROWS_WITH(plan_measuring({.epoch_steps = 20, .warmup = 20}),
                    "--warmup 20 leaves none of the 20 steps of --epochs to measure");
  try {
    (void)plan_measuring({.epoch_steps = 20, .warmup = 21});
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_FALSE(error.remedy().empty());
  }
}

TEST_CASE("neither steps nor epochs: warm-up by time, a repetition within its time", "[measure]") {
  const MeasuringPlan plan = plan_measuring({.min_time_seconds = 1, .max_time_seconds = 8});
  CHECK_FALSE(plan.config.warmup_steps.has_value());
  CHECK(plan.config.warmup_limit_seconds == 4);
  CHECK(plan.rule->limits().seconds == 8);
  CHECK(plan.rule->limits().steps == Limits::kUnlimited);
  CHECK(plan_measuring({.warmup = 3}).config.warmup_steps == 3);
}

TEST_CASE("a repetition needs two clean slices of one placement, and its least time", "[measure]") {
  const MeasuringPlan plan = plan_measuring({.min_time_seconds = 1, .max_time_seconds = 8});
  std::vector<SliceRecord> slices(3);
  slices[0].placement = "near";
  slices[0].clean = true;
  slices[1].placement = "far";
  slices[1].clean = true;
  slices[2].placement = "near";
  const std::vector<double> samples(10, 0.1);
  Evidence evidence{.step_seconds = samples,
                    .steps = 10,
                    .elapsed_seconds = 2,
                    .slices = slices,
                    .measured_seconds = 1.5};
  CHECK_FALSE(plan.rule->should_stop(evidence));
  slices[2].clean = true;
  CHECK(plan.rule->should_stop(evidence));
  CHECK(plan.rule->reason() == StopReason::noise);
  evidence.measured_seconds = 0.9;
  CHECK_FALSE(plan.rule->should_stop(evidence));
  evidence.elapsed_seconds = 8;
  CHECK(plan.rule->should_stop(evidence));
  CHECK(plan.rule->reason() == StopReason::max_time);
}

}  // namespace ptbench
