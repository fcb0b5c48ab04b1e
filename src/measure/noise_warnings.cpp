#include "src/measure/noise_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/units.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/device_warnings.h"
#include "src/measure/interval_text.h"
#include "src/measure/prior_noise.h"
#include "src/measure/short_slices.h"
#include "src/measure/slice_probe.h"
#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr const char* kShortWarmup = "short-warmup";
constexpr double kFrequencyChange = 1.05;  // steps scale with it: more than is to be resolved
constexpr double kMeanAboveMedian = 0.02;
constexpr Bytes kNoticeableSwap = 1U << 20;  // less is the kernel tidying up

constexpr auto kSampleCodes = std::to_array<std::string_view>(
    {"foreign-load", "steal", "cores-far", "mixed-placement", "frequency-changed",
     "few-clean-repetitions", "too-noisy", "mean-above-median", "slowdown"});

/// "0.53 %", "12.3 %", "100 %".
std::string percent(double fraction) { return fmt::format("{:.3g} %", 100 * fraction); }

void warn(RunRecord& run, WarningRecord warning) {
  remove_warning(run, warning.code);
  run.warnings.push_back(std::move(warning));
}

using SliceValue = std::optional<double> SliceRecord::*;

std::vector<double> known(const std::vector<SliceRecord>& slices, SliceValue value) {
  std::vector<double> values;
  for (const SliceRecord& slice : slices)
    if (slice.*value) values.push_back(*(slice.*value));
  return values;
}

std::vector<SliceRecord> clean_slices(const RunRecord& run) {
  std::vector<SliceRecord> clean;
  std::ranges::copy_if(run.samples.slices, std::back_inserter(clean), is_clean);
  return clean;
}

Size count_placement(const std::vector<SliceRecord>& slices, std::string_view placement) {
  return std::ranges::count_if(
      slices, [placement](const SliceRecord& slice) { return slice.placement == placement; });
}

void warn_of_foreign_load(RunRecord& run, const NoiseContext& context) {
  const std::vector<double> all = known(run.samples.slices, &SliceRecord::foreign_cpu_fraction);
  std::vector<double> busy;
  std::ranges::copy_if(all, std::back_inserter(busy),
                       [](double share) { return share > kCleanForeignFraction; });
  if (static_cast<double>(busy.size()) <= kRareSlices * static_cast<double>(all.size())) return;
  const std::string cores =
      context.cores == 1 ? "the core" : fmt::format("the {} cores", context.cores);
  warn(run,
       {.code = "foreign-load",
        .message = fmt::format("other programs took {} of {} in {} of {} slices",
                               percent(mean(busy)), cores, busy.size(), all.size()),
        .remedy = "Close other programs, or leave them cores of their own with fewer --threads."});
}

void warn_of_steal(RunRecord& run) {
  const std::vector<double> all = known(run.samples.slices, &SliceRecord::steal_fraction);
  if (all.empty() || mean(all) <= kQuietStealFraction) return;
  warn(run,
       {.code = "steal",
        .message = fmt::format("the hypervisor took {} of the cores' time, up to {} in a slice",
                               percent(mean(all)), percent(std::ranges::max(all))),
        .remedy = "Run again when the host is less busy, or on a machine that shares no cores."});
}

std::string_view repeats_option(const NoiseContext& context) {
  return context.in_sweep ? "--rounds" : "--repeats";
}

bool is_of_fixed_length(const SamplesRecord& samples) {
  return samples.stop_reason == StopReason::steps || samples.stop_reason == StopReason::epochs;
}

/// A run of fixed length is one process, a row of a sweep is not.
std::string remedy_of_moved_cores(const RunRecord& run, const NoiseContext& context) {
  const bool repeatable = context.in_sweep || !is_of_fixed_length(run.samples);
  return fmt::format("The figures are of one placement; {} {} measure it more often.",
                     repeatable ? "more" : "without --steps and --epochs,",
                     repeats_option(context));
}

void warn_of_placement(RunRecord& run, const NoiseContext& context) {
  const std::vector<SliceRecord> clean = clean_slices(run);
  const Size near = count_placement(clean, "near");
  const Size far = count_placement(clean, "far");
  const Size mixed = count_placement(run.samples.slices, "mixed");
  if (mixed > 0 || (near > 0 && far > 0)) {
    warn(run, {.code = "mixed-placement",
               .message = fmt::format("the cores moved: {} slices with near cores, {} with far "
                                      "ones, {} in which they changed",
                                      near, far, mixed),
               .remedy = remedy_of_moved_cores(run, context)});
  } else if (far > 0 && far == std::ssize(clean)) {
    const std::vector<double> latencies = known(clean, &SliceRecord::core_latency_seconds);
    const std::string after =
        latencies.empty() ? ""
                          : ": a signal between them takes " + format_duration(median(latencies));
    warn(run, {.code = "cores-far",
               .message = "the cores share no cache" + after,
               .remedy = "Pin to cores of one cache (taskset); in a virtual machine, run again "
                         "later. Compare with runs on far cores only."});
  }
}

void warn_of_frequency(RunRecord& run) {
  const std::vector<double> all = known(clean_slices(run), &SliceRecord::frequency_hertz);
  if (all.empty()) return;
  const auto [lowest, highest] = std::ranges::minmax(all);
  if (highest <= kFrequencyChange * lowest) return;
  const double usual = median(all);
  const bool throttled = usual / lowest >= highest / usual;
  warn(run, {.code = "frequency-changed",
             .message = fmt::format("the cores {}: {}Hz to {}Hz, usually {}Hz",
                                    throttled ? "were throttled at times" : "were boosted at times",
                                    format_si(lowest), format_si(highest), format_si(usual)),
             .remedy = throttled ? "Check cooling and power limits, or fix the frequency."
                                 : "Fix the frequency (as root: turn boost off; of a GPU: "
                                   "nvidia-smi -lgc)."});
}

Size most_clean_repetitions(const SamplesRecord& samples) {
  std::map<std::string, Size> counts;
  Size most = 0;
  for (const RepetitionRecord& repetition : samples.repetitions)
    if (has_clean_slice(repetition))
      most = std::max(most, ++counts[repetition.placement.value_or(std::string(kOneCore))]);
  return most;
}

bool has_few_repetitions(const SamplesRecord& samples) {
  return !samples.repetitions.empty() && most_clean_repetitions(samples) < kLeastRepetitions;
}

/// Whether most slices are of unknown load, as where turns end too early.
bool lack_load(const SamplesRecord& samples) {
  return 2 * std::ranges::count_if(samples.slices,
                                   [](const SliceRecord& slice) {
                                     return !slice.clean && !slice.foreign_cpu_fraction;
                                   }) >
         std::ssize(samples.slices);
}

/// What helps where repetitions are not clean.
std::string remedy_for_few(const SamplesRecord& samples, const NoiseContext& context) {
  const bool is_short = short_slices(samples).prevail();
  if (lack_load(samples) && !has_turns(samples) && !is_short)
    return "Run where /proc/stat shows the load of these cores: here it does not.";
  if (is_short || lack_load(samples)) return "Use a longer --max-time: repetitions share it.";
  return fmt::format("Run on a quiet machine, or with more {} and --max-time.",
                     repeats_option(context));
}

void warn_of_few_repetitions(RunRecord& run, const NoiseContext& context) {
  std::string message = fmt::format(
      "{} of {} repetitions are clean and of one placement: an interval that can be trusted needs "
      "{}",
      most_clean_repetitions(run.samples), run.samples.repetitions.size(), kLeastRepetitions);
  const ShortSlices too_short = short_slices(run.samples);
  const Size unknown = unknown_repetitions(run.samples);
  if (too_short.prevail()) message += "; " + text_of(too_short);
  if (unknown > 0)
    message += fmt::format("; it is not known whether something disturbed {} of them", unknown);
  warn(run, {.code = "few-clean-repetitions",
             .message = std::move(message),
             .remedy = remedy_for_few(run.samples, context)});
}

/// Half width of the interval, as a share: in logarithms, as it was made.
std::optional<double> reached_noise(const RunRecord& run) {
  const auto& interval = run.step_seconds.ci95;
  if (!interval || interval->low <= 0 || interval->high < interval->low) return std::nullopt;
  return 0.5 * std::log(interval->high / interval->low);
}

/// The spread of the repetitions that speak for the run, as comparisons see them, where it is
/// unusual.
struct UnusualSpread {
  double standard_deviation = 0;
  double usual = 0;
};

std::optional<UnusualSpread> unusual_spread(const RunRecord& run, const PriorNoise& prior) {
  const LogTimes classes = by_class(compared_times(run.samples));
  const LogTimes::value_type* counted = counted_class(classes);
  if (counted == nullptr) return std::nullopt;
  const double usual = prior.of(counted->first);
  const Spread spread = spread_of({&counted->second, 1}, usual);
  if (!spread.unusual) return std::nullopt;
  return UnusualSpread{.standard_deviation = spread.standard_deviation, .usual = usual};
}

WarningRecord warning_of_unusual_spread(const UnusualSpread& spread) {
  return {
      .code = "too-noisy",
      .message = fmt::format("the repetitions scatter by {}, far beyond the {} that is usual "
                             "here: compare calls such a run ambiguous",
                             percent(spread.standard_deviation), percent(spread.usual)),
      .remedy = "Measure again on a quiet machine; ptbench doctor --noise shows what disturbs it."};
}

/// "±3.33 %", "-45.1 % to +82.2 %": of half the width of a logarithm's interval.
std::string reached_text(double half) {
  const Interval ends{.low = std::exp(-half), .high = std::exp(half)};
  if (form_of(1, ends) == IntervalForm::half_width) return "±" + percent(half);
  return fmt::format("{} to +{}", percent(ends.low - 1), percent(ends.high - 1));
}

WarningRecord warning_of_wide_interval(double reached, const NoiseContext& context) {
  return {.code = "too-noisy",
          .message = fmt::format("known only to {} when the time was up, not to the ±{} asked for",
                                 reached_text(reached), percent(context.target_noise)),
          .remedy = fmt::format("Use --max-time {:g} or more {}.", 2 * context.max_time_seconds,
                                repeats_option(context))};
}

void warn_of_noise(RunRecord& run, const NoiseContext& context) {
  const std::optional<double> reached = reached_noise(run);
  if (!reached) return;
  const bool out_of_time = run.samples.stop_reason == StopReason::max_time;
  if (const auto unusual = unusual_spread(run, context.prior))
    warn(run, warning_of_unusual_spread(*unusual));
  else if (out_of_time && *reached > context.target_noise)
    warn(run, warning_of_wide_interval(*reached, context));
}

void warn_of_slowdown(RunRecord& run) {
  const double slowdown = run.samples.slowdown.value_or(0);
  if (slowdown <= 0) return;
  warn(run, {.code = "slowdown",
             .message = fmt::format(
                 "each step was made {} longer on purpose{}", percent(slowdown),
                 run.samples.slowdown_realized
                     ? fmt::format(", {:.2f} % as measured", 100 * *run.samples.slowdown_realized)
                     : ""),
             .remedy = "Leave out --slowdown where the figures count."});
}

void warn_of_quota(RunRecord& run, const Pressure& pressure) {
  const Size periods = pressure.throttled_periods.value_or(0);
  if (periods <= 0) return;
  std::string message =
      fmt::format("the CPU quota of the control group was used up {} times", periods);
  if (pressure.throttled_seconds)
    message += fmt::format(", and threads waited {}", format_duration(*pressure.throttled_seconds));
  warn(run, {.code = "cpu-quota",
             .message = std::move(message),
             .remedy = "Raise the container's CPU limit, or use fewer --threads."});
}

void warn_of_heat(RunRecord& run, const Pressure& pressure) {
  const Size times = pressure.thermal_throttles.value_or(0);
  if (times <= 0) return;
  warn(run, {.code = "thermal-throttling",
             .message = fmt::format("cores slowed down {} times because they were too hot", times),
             .remedy = "Improve the cooling, or cap the frequency."});
}

void warn_of_swapping(RunRecord& run, const Pressure& pressure) {
  const Bytes moved = pressure.swapped_bytes.value_or(0);
  const Bytes own = pressure.own_swap_bytes.value_or(0);
  if (moved < kNoticeableSwap && own < kNoticeableSwap) return;
  warn(run, {.code = "swapping",
             .message = fmt::format(
                 "memory was short: {} moved to swap or back, and {} of this program are in swap",
                 format_bytes(moved), format_bytes(own)),
             .remedy = "Close other programs, or choose a smaller --batch-size."});
}

/// Throughput is over the mean step, which people take for the usual one.
void warn_of_slow_steps(RunRecord& run) {
  const auto mean = run.step_seconds.mean;
  const auto median = run.step_seconds.median;
  if (!mean || !median || *mean <= (1 + kMeanAboveMedian) * *median) return;
  warn(run, {.code = "mean-above-median",
             .message = fmt::format("the mean step is {} longer than the median: some steps take "
                                    "far longer than others, and throughput includes them",
                                    percent(*mean / *median - 1)),
             .remedy = "See the percentiles of the step time, and close other programs."});
}

}  // namespace

void add_standstill_warning(RunRecord& run, const Standstill& standstill) {
  if (standstill.count == 0) return;
  warn(run,
       {.code = "stood-still",
        .message = fmt::format("training stood still for {} within {} sample{}: processes were "
                               "stopped, or waited as long for a core",
                               format_duration(standstill.seconds), standstill.count,
                               standstill.count == 1 ? "" : "s"),
        .remedy = "Look for what stops processes (SIGSTOP, Ctrl-Z, a debugger, a frozen "
                  "container) or holds the cores; those slices do not count as clean."});
}

void add_warmup_warning(RunRecord& run, const Samples& samples) {
  if (!samples.warmup_was_cut) return;
  warn(run,
       {.code = kShortWarmup,
        .message = fmt::format("the time for warming up was over after {} steps, before step times "
                               "had settled: the first measured steps may be slower than the rest",
                               samples.warmup_discarded),
        .remedy = "Give a longer --max-time."});
}

void mark_quick(RunRecord& run) {
  run.samples.quick = true;
  for (WarningRecord& warning : run.warnings)
    if (warning.code == kShortWarmup) warning.remedy = "Measure without --quick.";
  warn(run, {.code = "quick",
             .message = "a first look: one repetition does not show how much others would differ",
             .remedy = "Measure without --quick before you rely on it."});
}

void add_noise_warnings(RunRecord& run, const NoiseContext& context) {
  std::erase_if(run.warnings, [](const WarningRecord& warning) {
    return std::ranges::find(kSampleCodes, warning.code) != kSampleCodes.end();
  });
  warn_of_foreign_load(run, context);
  warn_of_steal(run);
  warn_of_placement(run, context);
  warn_of_frequency(run);
  add_device_warnings(run);
  if (context.pressure) {
    warn_of_quota(run, *context.pressure);
    warn_of_heat(run, *context.pressure);
    warn_of_swapping(run, *context.pressure);
  }
  if (run.status == Status::ok && !context.fixed_length) {
    if (has_few_repetitions(run.samples))
      warn_of_few_repetitions(run, context);
    else
      warn_of_noise(run, context);
  }
  warn_of_slow_steps(run);
  warn_of_slowdown(run);
}

}  // namespace ptbench
