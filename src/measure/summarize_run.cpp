#include "src/measure/summarize_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/device/energy.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/slice_probe.h"
#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr double kLevel = 0.95;

bool is_clean_in(const SliceRecord& slice, const std::string& placement) {
  return is_clean(slice) && slice.placement.value_or(std::string(kOneCore)) == placement;
}

/// Samples, and what each counts in percentiles: all of a slice together as much as those of any
/// other, as in the median of a repetition.
struct CountedSamples {
  std::vector<double> seconds;
  std::vector<Weighted> weighted;

  void add(std::span<const double> slice) {
    const double weight = 1 / static_cast<double>(slice.size());
    for (const double value : slice) {
      seconds.push_back(value);
      weighted.push_back({.value = value, .weight = weight});
    }
  }
};

/// Samples of the clean slices of the repetitions that count; all of them where there are none.
CountedSamples counted_samples(const SamplesRecord& samples,
                               const CountedRepetitions& repetitions) {
  const auto counts = [&](const SliceRecord& slice) {
    const auto place = static_cast<std::size_t>(slice.repetition);
    return is_clean_in(slice, repetitions.placement) &&
           std::ranges::find(repetitions.places, place) != repetitions.places.end();
  };
  CountedSamples counted;
  for (const bool all : {false, true}) {
    for (const SliceRecord& slice : samples.slices)
      if (all || counts(slice)) counted.add(slice_samples(slice, samples.step_seconds));
    if (!counted.seconds.empty()) return counted;
  }
  counted.add(samples.step_seconds);
  return counted;
}

void summarize_samples(CountedSamples samples, StepSecondsRecord& record) {
  const Summary summary = summarize(samples.seconds);
  record.median = summary.median;
  record.mean = summary.mean;
  record.stddev = summary.standard_deviation;
  record.min = summary.min;
  record.max = summary.max;
  std::ranges::sort(samples.weighted, {}, &Weighted::value);
  record.p10 = weighted_quantile(samples.weighted, 0.10);
  record.p90 = weighted_quantile(samples.weighted, 0.90);
  record.p95 = weighted_quantile(samples.weighted, 0.95);
  record.p99 = weighted_quantile(samples.weighted, 0.99);
}

/// One repetition far from many others may draw their mean out of the middle of all samples.
void contain_median(StepSecondsRecord& record) {
  if (!record.median || !record.p10) return;
  record.p10 = std::min(*record.p10, *record.median);
  for (std::optional<double>* const upper : {&record.p90, &record.p95, &record.p99, &record.max})
    *upper = std::max(**upper, *record.median);
  record.min = std::min(*record.min, *record.p10);
}

/// Half width of the interval of the mean of `logs`, one for each that counts; empty for too few.
std::optional<double> log_half_width(const CountedRepetitions& counted,
                                     const std::vector<double>& logs, const PriorNoise& prior) {
  if (counted.count() < kLeastRepetitions) return std::nullopt;
  return half_width(spread_of_counted(counted, logs, prior), counted.count(), kLevel);
}

/// `value` with `log_half` on either side of its logarithm.
Interval around(double value, double log_half) {
  return {.low = value * std::exp(-log_half), .high = value * std::exp(log_half)};
}

std::vector<double> exponentials(std::span<const double> values) {
  std::vector<double> results;
  results.reserve(values.size());
  for (const double value : values) results.push_back(std::exp(value));
  return results;
}

void summarize_repetitions(const CountedRepetitions& counted, const PriorNoise& prior,
                           StepSecondsRecord& record) {
  if (counted.count() == 0) return;
  record.median = std::exp(mean(counted.log_medians));
  const auto half = log_half_width(counted, counted.log_medians, prior);
  if (!half) return;
  record.ci95 = around(*record.median, *half);
  record.run_to_run_sd = standard_deviation(exponentials(counted.log_medians));
}

void summarize_placements(const LogTimes& classes, StepSecondsRecord& record) {
  for (const auto& [placement, times] : classes)
    record.by_placement[placement] = {.median_seconds = std::exp(mean(times)),
                                      .repetitions = std::ssize(times)};
}

void summarize_compute(double step_seconds, ComputeRecord& compute) {
  if (compute.flops_per_step) compute.flops_per_second = *compute.flops_per_step / step_seconds;
  if (const auto peak = compute.peak_flops_per_second; peak && *peak > 0) {
    if (compute.flops_per_second) compute.effective_utilization = *compute.flops_per_second / *peak;
    if (compute.executed_flops_per_step)
      compute.utilization = *compute.executed_flops_per_step / step_seconds / *peak;
  }
}

/// Rates are of the mean step, since slow steps take their time too; of the median where samples
/// were left out.
void summarize_rates(const CountedRepetitions& counted, const PriorNoise& prior, RunRecord& run) {
  const double step_seconds = run.step_seconds.mean.value_or(*run.step_seconds.median);
  if (step_seconds <= 0) return;
  if (const auto tokens = run.workload.tokens_per_step)
    run.throughput.tokens_per_second = static_cast<double>(*tokens) / step_seconds;
  if (const auto batch = run.strategy.global_batch) {
    run.throughput.value = static_cast<double>(*batch) / step_seconds;
    if (const auto half = log_half_width(counted, counted.log_means, prior))
      run.throughput.ci95 = around(*run.throughput.value, *half);
    if (!run.compute.flops_per_step && run.workload.flops_per_sample)
      run.compute.flops_per_step = *run.workload.flops_per_sample * static_cast<double>(*batch);
  }
  summarize_compute(step_seconds, run.compute);
}

/// Of a step, over the slices whose samples count, as far as their energy is known: other programs
/// take theirs too. Empty where it is of none.
std::optional<double> joules_per_step(const SamplesRecord& samples, const std::string& placement,
                                      std::optional<double> SliceRecord::* joules_of) {
  const bool any_clean = std::ranges::any_of(
      samples.slices, [&](const SliceRecord& slice) { return is_clean_in(slice, placement); });
  const auto steps_per_sample = static_cast<double>(samples.steps_per_sample.value_or(1));
  double joules = 0;
  double steps = 0;
  for (const SliceRecord& slice : samples.slices) {
    if (!(slice.*joules_of) || (any_clean && !is_clean_in(slice, placement))) continue;
    joules += *(slice.*joules_of);
    steps += static_cast<double>(slice.count) * steps_per_sample;
  }
  return steps > 0 ? std::optional(joules / steps) : std::nullopt;
}

/// Of the devices where they tell, whatever the CPU packages used beside them.
void summarize_energy(const SamplesRecord& samples, const std::string& placement,
                      std::optional<EnergyRecord>& energy) {
  if (const auto device = joules_per_step(samples, placement, &SliceRecord::device_joules))
    energy = EnergyRecord{device, kDeviceEnergySource};
  else if (const auto packages = joules_per_step(samples, placement, &SliceRecord::joules))
    energy = EnergyRecord{packages, kEnergySource};
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
  run.compute.effective_utilization.reset();
  if (!is_measured(samples)) return;

  const LogTimes classes = clean_log_times(samples);
  const CountedRepetitions counted = counted_repetitions(samples);
  if (!samples.step_seconds.empty())
    summarize_samples(counted_samples(samples, counted), run.step_seconds);
  summarize_repetitions(counted, prior, run.step_seconds);
  contain_median(run.step_seconds);
  summarize_placements(classes, run.step_seconds);
  summarize_rates(counted, prior, run);
  summarize_energy(samples, counted.placement, run.energy);
  scale_phases(*run.step_seconds.median, run.phases_seconds, run.ranks);
}

}  // namespace ptbench
