#include "src/measure/summarize_run.h"

#include "src/measure/statistics.h"

namespace ptbench {
namespace {

void summarize_steps(const Samples& samples, StepSecondsRecord& record) {
  const Summary summary = summarize(samples.step_seconds);
  record.median = summary.median;
  record.mean = summary.mean;
  record.stddev = summary.standard_deviation;
  record.min = summary.min;
  record.max = summary.max;
  record.p10 = summary.p10;
  record.p90 = summary.p90;
  record.p95 = summary.p95;
  record.p99 = summary.p99;
}

/// Rates are of the median step.
void summarize_rates(double step_seconds, RunRecord& run) {
  if (step_seconds <= 0) return;
  if (const auto batch = run.strategy.global_batch) {
    run.throughput.value = static_cast<double>(*batch) / step_seconds;
    if (!run.compute.flops_per_step && run.workload.flops_per_sample)
      run.compute.flops_per_step = *run.workload.flops_per_sample * static_cast<double>(*batch);
  }
  if (!run.compute.flops_per_step) return;
  run.compute.flops_per_second = *run.compute.flops_per_step / step_seconds;
  const auto peak = run.compute.peak_flops_per_second;
  if (peak && *peak > 0) run.compute.utilization = *run.compute.flops_per_second / *peak;
}

}  // namespace

void summarize_run(const Samples& samples, RunRecord& run) {
  if (samples.interrupted) {
    run.status = Status::interrupted;
    if (!run.reason) run.reason = "interrupted by a signal";
  }
  run.samples.warmup_discarded = samples.warmup_discarded;
  run.samples.count = std::ssize(samples.step_seconds);
  run.samples.stop_reason = samples.stop_reason;
  run.samples.step_seconds = samples.step_seconds;
  if (samples.step_seconds.empty()) return;
  run.samples.steps_per_sample = samples.steps_per_sample;
  summarize_steps(samples, run.step_seconds);
  summarize_rates(*run.step_seconds.median, run);
}

}  // namespace ptbench
