#include "src/measure/pool_runs.h"

#include <catch2/catch.hpp>
#include <vector>

#include "src/base/error.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::run_of_seconds;

RunRecord pooled(const std::vector<RunRecord>& runs) { return pool_runs(runs, PriorNoise()); }

}  // namespace

TEST_CASE("pooled repetitions, slices and samples follow one another", "[measure]") {
  RunRecord first = run_of_seconds({0.005, 0.006});
  first.samples.warmup_discarded = 30;
  first.samples.steps_per_sample = 1;
  first.samples.stop_reason = StopReason::max_time;
  RunRecord second = run_of_seconds({0.007});
  second.samples.warmup_discarded = 31;
  second.samples.stop_reason = StopReason::noise;
  second.samples.slowdown = 0.05;
  RunRecord third = run_of_seconds({0.008}, "far");
  third.samples.slowdown = 0.03;
  second.samples.repetitions[0].lockstep = "17-1";
  second.samples.slices[0].turn = 4;

  const RunRecord run = pooled({first, second, third});
  CHECK(run.id == "run");
  REQUIRE(run.samples.repetitions.size() == 4);
  CHECK(run.samples.repetitions[2].median_seconds == 0.007);
  CHECK(run.samples.repetitions[3].placement == "far");
  REQUIRE(run.samples.slices.size() == 4);
  CHECK(run.samples.slices[1].repetition == 1);
  CHECK(run.samples.slices[2].repetition == 2);
  CHECK(run.samples.slices[2].first == 6);
  CHECK(run.samples.slices[2].turn == 4);
  CHECK(run.samples.repetitions[2].lockstep == "17-1");
  CHECK_FALSE(run.samples.slices[3].turn.has_value());
  CHECK_FALSE(run.samples.repetitions[3].lockstep.has_value());
  CHECK(run.samples.slices[3].repetition == 3);
  CHECK(run.samples.slices[3].first == 9);
  CHECK(run.samples.step_seconds[10] == Approx(0.008));
  CHECK(run.samples.count == 12);
  CHECK(run.samples.warmup_discarded == 30);
  CHECK(run.samples.steps_per_sample == 1);
  CHECK(run.samples.stop_reason == StopReason::noise);
  CHECK(run.samples.slowdown == 0.05);
  CHECK(run.step_seconds.by_placement.at("near").repetitions == 3);
  CHECK(run.step_seconds.ci95.has_value());
}

TEST_CASE("a slowdown that was realized is the mean over repetitions", "[measure]") {
  RunRecord first = run_of_seconds({0.005, 0.005, 0.005});
  first.samples.slowdown_realized = 0.051;
  RunRecord second = run_of_seconds({0.005});
  second.samples.slowdown_realized = 0.047;
  CHECK(pooled({first, second}).samples.slowdown_realized.value() == Approx(0.05));
  CHECK(pooled({run_of_seconds({0.005}), second}).samples.slowdown_realized == 0.047);
}

TEST_CASE("pooling one record summarises it", "[measure]") {
  const RunRecord run = pooled({run_of_seconds({0.006})});
  CHECK(run.step_seconds.median.value() == Approx(0.006));
  CHECK_THROWS_AS(pooled({}), Defect);
}

TEST_CASE("a slice that leads outside its own record does not lead into another", "[measure]") {
  RunRecord first = run_of_seconds({0.005});
  first.samples.slices[0].count = 4;
  RunRecord second = run_of_seconds({0.006});
  second.samples.slices.push_back(second.samples.slices[0]);
  second.samples.slices[1].repetition = -1;
  const RunRecord run = pooled({first, second});
  REQUIRE(run.samples.slices.size() == 1);
  CHECK(run.samples.slices[0].first == 3);
  CHECK(run.samples.repetitions.size() == 2);
}

TEST_CASE("a process that failed or was interrupted decides the status", "[measure]") {
  const RunRecord good = run_of_seconds({0.006});
  RunRecord interrupted = run_of_seconds({0.007});
  interrupted.status = Status::interrupted;
  interrupted.reason = "stopped by a signal";
  RunRecord failed;
  failed.id = "run";
  failed.status = Status::failed;
  failed.reason = "the process was killed by signal 9";
  RunRecord skipped;
  skipped.status = Status::skipped;
  skipped.reason = "3 ranks on 2 cores";

  CHECK(pooled({good, good}).status == Status::ok);
  CHECK(pooled({skipped, good}).status == Status::ok);
  CHECK_FALSE(pooled({skipped, good}).reason.has_value());
  CHECK(pooled({skipped, skipped}).status == Status::skipped);
  CHECK(pooled({good, interrupted}).status == Status::interrupted);
  const RunRecord run = pooled({failed, interrupted, good});
  CHECK(run.status == Status::failed);
  CHECK(run.reason == "the process was killed by signal 9");
  CHECK(run.samples.repetitions.size() == 2);
  CHECK(run.step_seconds.median.has_value());
}

TEST_CASE("what is known of the configuration is that of a process that measured", "[measure]") {
  RunRecord crashed;
  crashed.id = "run";
  crashed.status = Status::failed;
  RunRecord prepared;
  prepared.id = "run";
  prepared.workload.name = "mlp";
  prepared.strategy.plan_hash = "a1";
  CHECK(pooled({crashed, prepared}).workload.name == "mlp");
  RunRecord measured = run_of_seconds({0.006});
  measured.workload.name = "mlp";
  measured.strategy.threads = 2;
  const RunRecord run = pooled({crashed, prepared, measured});
  CHECK(run.strategy.threads == 2);
  CHECK(run.strategy.plan_hash == "a1");
}

TEST_CASE("warnings of several processes are told once", "[measure]") {
  RunRecord first = run_of_seconds({0.006});
  first.warnings = {{.code = "busy", .message = "34 %", .remedy = {}},
                    {.code = "debug-build", .message = "slow", .remedy = {}},
                    {.code = "debug-build", .message = "a library too", .remedy = {}}};
  RunRecord second = run_of_seconds({0.006});
  second.warnings = {{.code = "busy", .message = "35 %", .remedy = {}},
                     {.code = "skipped-steps", .message = "3", .remedy = {}}};
  const RunRecord run = pooled({first, second});
  REQUIRE(run.warnings.size() == 4);
  CHECK(run.warnings[0].message == "34 %");
  CHECK(run.warnings[2].message == "a library too");
  CHECK(run.warnings[3].code == "skipped-steps");
}

TEST_CASE("peaks are the largest", "[measure]") {
  RunRecord first = run_of_seconds({0.006});
  first.memory = {.before_bytes = 10, .peak_bytes = 100};
  first.compute.peak_flops_per_second = 1e11;
  first.compute.peak_source = "one";
  first.ranks = {{.rank = 0, .host = "a", .device = "cpu", .peak_memory_bytes = 5}};
  RunRecord second = run_of_seconds({0.006});
  second.memory = {.before_bytes = 9, .peak_bytes = 120, .predicted_bytes = 90};
  second.compute.peak_flops_per_second = 2e11;
  second.compute.peak_source = "two";
  second.compute.flops_per_step = 3e8;
  second.ranks = {{.rank = 0, .host = "a", .device = "cpu", .peak_memory_bytes = 7}};

  const RunRecord run = pooled({first, second, run_of_seconds({0.006})});
  CHECK(run.memory.before_bytes == 10);
  CHECK(run.memory.peak_bytes == 120);
  CHECK(run.memory.predicted_bytes == 90);
  CHECK(run.compute.peak_flops_per_second == 2e11);
  CHECK(run.compute.peak_source == "two");
  CHECK(run.compute.effective_utilization.value() == Approx(3e8 / (3.1 / 3 * 0.006) / 2e11));
  REQUIRE(run.ranks.size() == 1);
  CHECK(run.ranks[0].peak_memory_bytes == 7);
}

TEST_CASE("memory is that of processes that measured, where any did", "[measure]") {
  RunRecord preparation;  // chooses and verifies
  preparation.id = "run";
  preparation.memory = {.before_bytes = 10, .peak_bytes = 500, .predicted_bytes = 100};
  RunRecord repetition = run_of_seconds({0.006});
  repetition.memory = {.before_bytes = 10, .peak_bytes = 110, .predicted_bytes = 90};
  CHECK(pooled({preparation, repetition}).memory.peak_bytes == 110);
  CHECK(pooled({preparation, repetition}).memory.predicted_bytes == 90);
  CHECK(pooled({preparation}).memory.peak_bytes == 500);
}

TEST_CASE("results are those of the first process that has them", "[measure]") {
  RunRecord first = run_of_seconds({0.006});
  first.verification.reason = "world size 1";
  first.phases_seconds.data = 0.001;
  RunRecord second = run_of_seconds({0.006});
  second.verification.status = VerificationStatus::passed;
  second.loss = {.first = 2.3, .last = 0.1};
  second.accuracy = AccuracyRecord{.test = 0.9};
  second.phases_seconds.data = 0.002;
  second.phases_seconds.forward = 0.002;
  second.phases_seconds.other = 0.002;
  RunRecord third = run_of_seconds({0.006});
  third.verification.status = VerificationStatus::passed;
  third.verification.steps = 30;
  third.loss = {.first = 9, .last = 9};

  CHECK(pooled({first}).verification.reason == "world size 1");
  CHECK(pooled({first}).phases_seconds.data == 0.001);
  const RunRecord run = pooled({first, second, third});
  CHECK(run.verification.status == VerificationStatus::passed);
  CHECK_FALSE(run.verification.steps.has_value());
  CHECK(run.loss.first == 2.3);
  CHECK(run.accuracy->test == 0.9);
  CHECK(run.phases_seconds.data.value() == Approx(0.002));
  CHECK(run.phases_seconds.forward.value() == Approx(0.002));
}

TEST_CASE("the worst verification counts, and leaves nothing that was measured", "[measure]") {
  RunRecord preparation;
  preparation.id = "run";
  preparation.verification.status = VerificationStatus::passed;
  RunRecord parted = run_of_seconds({0.006});
  parted.compute.flops_per_step = 3e8;
  parted.loss = {.first = 2.3, .last = 0.1};
  parted.accuracy = AccuracyRecord{.test = 0.9};
  RunRecord good = parted;
  fail_verification(parted, "ranks differ");
  CHECK(parted.samples.step_seconds.empty());
  for (const RunRecord& run : {pooled({preparation, good, parted, good}), pooled({parted, good})}) {
    CHECK(run.status == Status::failed);
    CHECK(run.reason == "ranks differ");
    CHECK(run.verification.status == VerificationStatus::failed);
    CHECK(run.verification.reason == "ranks differ");
    CHECK(run.samples.repetitions.empty());
    CHECK(run.step_seconds.by_placement.empty());
    CHECK_FALSE(run.step_seconds.median.has_value());
    CHECK_FALSE(run.throughput.value.has_value());
    CHECK_FALSE(run.compute.flops_per_second.has_value());
    CHECK_FALSE(run.loss.last.has_value());
    CHECK_FALSE(run.accuracy.has_value());
  }
  RunRecord weak = good;
  weak.verification.status = VerificationStatus::weak;
  CHECK(pooled({preparation, weak}).verification.status == VerificationStatus::weak);
  CHECK(pooled({preparation, weak}).step_seconds.median.has_value());
}

TEST_CASE("a pooled run that a first look is part of says so") {
  RunRecord quick = run_of_seconds({0.004});
  quick.samples.quick = true;
  CHECK(pooled({run_of_seconds({0.005}), quick}).samples.quick == true);
  CHECK_FALSE(pooled({run_of_seconds({0.005})}).samples.quick.has_value());
}

}  // namespace ptbench
