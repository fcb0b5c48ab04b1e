#include "src/measure/summarize_run.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

Samples three_samples() {
  Samples samples;
  samples.warmup_discarded = 30;
  samples.steps = 6;
  samples.steps_per_sample = 2;
  samples.step_seconds = {0.004, 0.002, 0.009};
  samples.stop_reason = StopReason::steps;
  return samples;
}

}  // namespace

TEST_CASE("a run's record holds its samples and what follows from them", "[measure]") {
  RunRecord run;
  run.strategy.global_batch = 128;
  run.workload.flops_per_sample = 1e6;
  run.compute.peak_flops_per_second = 64e9;
  summarize_run(three_samples(), run);

  CHECK(run.status == Status::ok);
  CHECK(run.samples.warmup_discarded == 30);
  CHECK(run.samples.count == 3);
  CHECK(run.samples.steps_per_sample == 2);
  CHECK(run.samples.stop_reason == StopReason::steps);
  CHECK(run.samples.step_seconds == std::vector<double>{0.004, 0.002, 0.009});
  CHECK(run.step_seconds.median == 0.004);
  CHECK(run.step_seconds.mean.value() == Approx(0.005));
  CHECK(run.step_seconds.min == 0.002);
  CHECK(run.step_seconds.max == 0.009);
  CHECK(run.throughput.value.value() == Approx(128 / 0.004));
  CHECK(run.compute.flops_per_step.value() == Approx(128e6));
  CHECK(run.compute.flops_per_second.value() == Approx(32e9));
  CHECK(run.compute.utilization.value() == Approx(0.5));
  CHECK_FALSE(run.step_seconds.ci95.has_value());
  CHECK_FALSE(run.throughput.ci95.has_value());
}

TEST_CASE("rates need a batch, operations and a peak", "[measure]") {
  RunRecord run;
  summarize_run(three_samples(), run);
  CHECK(run.step_seconds.median.has_value());
  CHECK_FALSE(run.throughput.value.has_value());
  CHECK_FALSE(run.compute.flops_per_second.has_value());
  CHECK_FALSE(run.compute.utilization.has_value());
}

TEST_CASE("operations that are known otherwise are kept", "[measure]") {
  RunRecord run;
  run.compute.flops_per_step = 4e6;
  summarize_run(three_samples(), run);
  CHECK(run.compute.flops_per_second.value() == Approx(1e9));
}

TEST_CASE("an interrupted run keeps what it has", "[measure]") {
  RunRecord run;
  run.strategy.global_batch = 128;
  Samples samples;
  samples.interrupted = true;
  samples.warmup_discarded = 3;
  summarize_run(samples, run);
  CHECK(run.status == Status::interrupted);
  CHECK(run.reason.has_value());
  CHECK(run.samples.warmup_discarded == 3);
  CHECK(run.samples.count == 0);
  CHECK_FALSE(run.samples.stop_reason.has_value());
  CHECK_FALSE(run.samples.steps_per_sample.has_value());
  CHECK_FALSE(run.step_seconds.median.has_value());
  CHECK_FALSE(run.throughput.value.has_value());
}

}  // namespace ptbench
