#include "src/measure/summarize_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr double kLevel = 0.95;

/// The repetitions that speak for a run.
struct Speaking {
  std::string placement;          ///< class; nothing where none is clean
  std::vector<double> log_times;  ///< of the repetitions' medians
};

std::vector<double> all_log_times(const SamplesRecord& samples) {
  std::vector<double> times;
  for (const RepetitionRecord& repetition : samples.repetitions)
    if (const auto seconds = repetition.median_seconds; seconds && *seconds > 0)
      times.push_back(std::log(*seconds));
  return times;
}

Speaking speaking_of(const SamplesRecord& samples, const LogTimes& classes) {
  const LogTimes::value_type* speaking = speaking_class(classes);
  if (speaking == nullptr) return {.placement = {}, .log_times = all_log_times(samples)};
  return {.placement = speaking->first, .log_times = speaking->second};
}

/// Samples of the clean slices of `placement`; all of them where there are none.
std::vector<double> spoken_samples(const SamplesRecord& samples, const std::string& placement) {
  std::vector<double> spoken;
  for (const SliceRecord& slice : samples.slices) {
    if (!slice.clean || slice.placement.value_or(std::string(kOneCore)) != placement) continue;
    const auto part = slice_samples(slice, samples.step_seconds);
    spoken.insert(spoken.end(), part.begin(), part.end());
  }
  return spoken.empty() ? samples.step_seconds : spoken;
}

void summarize_samples(std::span<const double> samples, StepSecondsRecord& record) {
  const Summary summary = summarize(samples);
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

/// What the host usually does says nothing of repetitions that were disturbed.
Spread spread_of_speaking(const Speaking& speaking, const PriorNoise& prior) {
  if (!speaking.placement.empty())
    return spread_of({&speaking.log_times, 1}, prior.of(speaking.placement));
  return {.standard_deviation = standard_deviation(speaking.log_times).value_or(0),
          .degrees_of_freedom = static_cast<double>(speaking.log_times.size() - 1)};
}

std::vector<double> exponentials(std::span<const double> values) {
  std::vector<double> results;
  results.reserve(values.size());
  for (const double value : values) results.push_back(std::exp(value));
  return results;
}

void summarize_repetitions(const Speaking& speaking, const PriorNoise& prior,
                           StepSecondsRecord& record) {
  const Size count = std::ssize(speaking.log_times);
  if (count == 0) return;
  const double centre = mean(speaking.log_times);
  record.median = std::exp(centre);
  if (count < kLeastRepetitions) return;
  const double half = half_width(spread_of_speaking(speaking, prior), count, kLevel);
  record.ci95 = {.low = std::exp(centre - half), .high = std::exp(centre + half)};
  record.run_to_run_sd = standard_deviation(exponentials(speaking.log_times));
}

void summarize_placements(const LogTimes& classes, StepSecondsRecord& record) {
  for (const auto& [placement, times] : classes)
    record.by_placement[placement] = {.median_seconds = std::exp(mean(times)),
                                      .repetitions = std::ssize(times)};
}

void summarize_throughput(const StepSecondsRecord& steps, Size batch, ThroughputRecord& record) {
  const auto samples = static_cast<double>(batch);
  record.value = samples / *steps.median;
  if (steps.ci95)
    record.ci95 = {.low = samples / steps.ci95->high, .high = samples / steps.ci95->low};
}

/// Rates are of the median step.
void summarize_rates(RunRecord& run) {
  const double step_seconds = *run.step_seconds.median;
  if (step_seconds <= 0) return;
  if (const auto batch = run.strategy.global_batch) {
    summarize_throughput(run.step_seconds, *batch, run.throughput);
    if (!run.compute.flops_per_step && run.workload.flops_per_sample)
      run.compute.flops_per_step = *run.workload.flops_per_sample * static_cast<double>(*batch);
  }
  if (!run.compute.flops_per_step) return;
  run.compute.flops_per_second = *run.compute.flops_per_step / step_seconds;
  const auto peak = run.compute.peak_flops_per_second;
  if (peak && *peak > 0) run.compute.utilization = *run.compute.flops_per_second / *peak;
}

/// The phases that make up a step but `data`, which a loader knows without timing phases.
constexpr std::array kComputePhases{&PhasesRecord::scatter,
                                    &PhasesRecord::replicate,
                                    &PhasesRecord::forward,
                                    &PhasesRecord::gather,
                                    &PhasesRecord::backward,
                                    &PhasesRecord::reduce,
                                    &PhasesRecord::communication_exposed,
                                    &PhasesRecord::optimizer,
                                    &PhasesRecord::other};

/// The pass that timed phases and ranks took steps of its own.
void scale_phases(double step_seconds, PhasesRecord& phases, std::vector<RankRecord>& ranks) {
  const bool timed =
      std::ranges::any_of(kComputePhases, [&](auto phase) { return (phases.*phase).has_value(); });
  double sum = phases.data.value_or(0);
  for (const auto phase : kComputePhases) sum += (phases.*phase).value_or(0);
  if (!timed || !(sum > 0)) return;
  const auto scale = [factor = step_seconds / sum](std::optional<double>& seconds) {
    if (seconds) *seconds *= factor;
  };
  for (const auto phase : kComputePhases) scale(phases.*phase);
  scale(phases.data);
  scale(phases.communication);
  for (RankRecord& rank : ranks) {
    scale(rank.compute_seconds);
    scale(rank.wait_seconds);
  }
}

}  // namespace

std::span<const double> slice_samples(const SliceRecord& slice, std::span<const double> samples) {
  const Size size = std::ssize(samples);
  if (slice.first < 0 || slice.count < 0 || slice.first > size || slice.count > size - slice.first)
    return {};
  return samples.subspan(static_cast<std::size_t>(slice.first),
                         static_cast<std::size_t>(slice.count));
}

bool is_measured(const SamplesRecord& samples) {
  return !samples.step_seconds.empty() ||
         std::ranges::any_of(samples.repetitions, [](const RepetitionRecord& repetition) {
           return repetition.median_seconds.value_or(0) > 0;
         });
}

std::optional<double> slice_seconds(const SliceRecord& slice, const SamplesRecord& samples) {
  const auto part = slice_samples(slice, samples.step_seconds);
  if (part.empty() || !samples.steps_per_sample) return std::nullopt;
  return std::accumulate(part.begin(), part.end(), 0.0) *
         static_cast<double>(*samples.steps_per_sample);
}

void summarize_run(RunRecord& run, const PriorNoise& prior) {
  const SamplesRecord& samples = run.samples;
  run.samples.count = std::ssize(samples.step_seconds);
  run.step_seconds = {};
  run.throughput = {};
  run.compute.flops_per_second.reset();
  run.compute.utilization.reset();
  if (!is_measured(samples)) return;

  const LogTimes classes = clean_log_times(samples);
  const Speaking speaking = speaking_of(samples, classes);
  if (!samples.step_seconds.empty())
    summarize_samples(spoken_samples(samples, speaking.placement), run.step_seconds);
  summarize_repetitions(speaking, prior, run.step_seconds);
  summarize_placements(classes, run.step_seconds);
  summarize_rates(run);
  scale_phases(*run.step_seconds.median, run.phases_seconds, run.ranks);
}

}  // namespace ptbench
