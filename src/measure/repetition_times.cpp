#include "src/measure/repetition_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "src/base/error.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/prior_noise.h"
#include "src/measure/slice_probe.h"
#include "src/measure/statistics.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

bool is_time(double seconds) { return seconds > 0 && std::isfinite(seconds); }

/// Whether the slice is one of those of its repetition that speak for it.
bool speaks(const SliceRecord& slice, const RepetitionRecord& repetition) {
  return !has_clean_slice(repetition) ||
         (is_clean(slice) && slice.placement == repetition.placement);
}

std::optional<double> mean_of_samples(const SamplesRecord& samples, Size number,
                                      SpeakingSlices slices) {
  const auto place = static_cast<std::size_t>(number);
  return pooled_mean_seconds(samples, {&place, 1}, slices);
}

/// Of the medians of all slices of a repetition; its own where they know none.
std::optional<double> median_of_slices(const SamplesRecord& samples, Size number) {
  std::vector<double> medians;
  for (const SliceRecord& slice : samples.slices)
    if (slice.repetition == number && slice.median_seconds)
      medians.push_back(*slice.median_seconds);
  if (!medians.empty()) return median(medians);
  return samples.repetitions[static_cast<std::size_t>(number)].median_seconds;
}

std::optional<double> log_of(const std::optional<double>& seconds) {
  return seconds && is_time(*seconds) ? std::optional(std::log(*seconds)) : std::nullopt;
}

std::optional<double> log_hertz_of(const SamplesRecord& samples, Size number) {
  const RepetitionRecord& repetition = samples.repetitions[static_cast<std::size_t>(number)];
  double sum = 0;
  double count = 0;
  for (const SliceRecord& slice : samples.slices) {
    if (slice.repetition != number || !speaks(slice, repetition)) continue;
    if (!is_positive(slice.mean_frequency_hertz)) return std::nullopt;
    sum += std::log(*slice.mean_frequency_hertz);
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

std::vector<RepetitionTime> median_times(const SamplesRecord& samples) {
  std::vector<RepetitionTime> times;
  times.reserve(samples.repetitions.size());
  for (const RepetitionRecord& repetition : samples.repetitions) {
    const double seconds = repetition.median_seconds.value_or(0);
    const bool counts = has_clean_slice(repetition) && is_time(seconds);
    times.push_back({.placement = repetition.placement.value_or(std::string(kOneCore)),
                     .log_time = counts ? std::optional(std::log(seconds)) : std::nullopt,
                     .started_unix_seconds = repetition.started_unix_seconds,
                     .log_hertz = log_hertz_of(samples, std::ssize(times))});
  }
  return times;
}

std::optional<std::vector<RepetitionTime>> quartile_times(const SamplesRecord& samples) {
  std::vector<RepetitionTime> times = median_times(samples);
  for (std::size_t number = 0; number < times.size(); ++number) {
    if (!times[number].log_time) continue;
    const double seconds = samples.repetitions[number].lower_quartile_seconds.value_or(0);
    if (!is_time(seconds)) return std::nullopt;
    times[number].log_time = std::log(seconds);
  }
  return times;
}

std::optional<double> mean_seconds(const SamplesRecord& samples, Size number) {
  const auto& kept = samples.repetitions[static_cast<std::size_t>(number)].mean_seconds;
  return kept ? kept : mean_of_samples(samples, number, SpeakingSlices::clean);
}

std::optional<double> pooled_mean_seconds(const SamplesRecord& samples,
                                          std::span<const std::size_t> places,
                                          SpeakingSlices slices) {
  double sum = 0;
  std::size_t count = 0;
  for (const SliceRecord& slice : samples.slices) {
    const auto place = static_cast<std::size_t>(slice.repetition);
    if (std::ranges::find(places, place) == places.end()) continue;
    if (slices == SpeakingSlices::clean && !speaks(slice, samples.repetitions.at(place))) continue;
    const auto part = slice_samples(slice, samples.step_seconds);
    sum = std::accumulate(part.begin(), part.end(), sum);
    count += part.size();
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::optional<std::string> placement_at(const SamplesRecord& samples, Size number) {
  const auto& placement = samples.repetitions[static_cast<std::size_t>(number)].placement;
  if (placement) return placement;
  std::map<std::string, Size> counts;
  for (const SliceRecord& slice : samples.slices)
    if (slice.repetition == number && slice.placement) ++counts[*slice.placement];
  counts.erase("mixed");
  if (counts.empty()) return std::nullopt;
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

void keep_means(SamplesRecord& samples) {
  for (std::size_t number = 0; number < samples.repetitions.size(); ++number)
    samples.repetitions[number].mean_seconds = mean_seconds(samples, static_cast<Size>(number));
}

std::optional<std::vector<RepetitionTime>> mean_times(const SamplesRecord& samples) {
  std::vector<RepetitionTime> times = median_times(samples);
  for (std::size_t number = 0; number < times.size(); ++number) {
    if (!times[number].log_time) continue;
    const double seconds = mean_seconds(samples, static_cast<Size>(number)).value_or(0);
    if (!is_time(seconds)) return std::nullopt;
    times[number].log_time = std::log(seconds);
  }
  return times;
}

std::vector<std::optional<double>> log_means(const SamplesRecord& samples, SpeakingSlices slices) {
  std::vector<std::optional<double>> logs;
  for (Size number = 0; const RepetitionRecord& repetition : samples.repetitions) {
    std::optional<double> seconds;
    if (slices == SpeakingSlices::all) seconds = mean_of_samples(samples, number, slices);
    if (!seconds) seconds = mean_seconds(samples, number);
    logs.push_back(log_of(seconds ? seconds : repetition.median_seconds));
    ++number;
  }
  return logs;
}

std::vector<std::optional<double>> log_medians(const SamplesRecord& samples,
                                               SpeakingSlices slices) {
  std::vector<std::optional<double>> logs;
  for (Size number = 0; const RepetitionRecord& repetition : samples.repetitions) {
    const bool all = slices == SpeakingSlices::all;
    logs.push_back(log_of(all ? median_of_slices(samples, number) : repetition.median_seconds));
    ++number;
  }
  return logs;
}

std::string_view name_of(Statistic statistic) {
  switch (statistic) {
    case Statistic::median: return "median";
    case Statistic::lower_quartile: return "lower_quartile";
    case Statistic::mean: return "mean";
  }
  throw Defect("a statistic without a name");
}

ComparedBy compared_by(std::span<const SamplesRecord* const> runs) {
  const auto all_have = [&](auto times) {
    return std::ranges::all_of(
        runs, [&](const SamplesRecord* samples) { return times(*samples).has_value(); });
  };
  ComparedBy by;
  if (all_have(quartile_times)) by = {Statistic::lower_quartile, Statistic::median};
  if (all_have(mean_times)) by.whole = Statistic::mean;
  return by;
}

std::vector<RepetitionTime> times_of(const SamplesRecord& samples, Statistic statistic) {
  switch (statistic) {
    case Statistic::median: return median_times(samples);
    case Statistic::lower_quartile: return quartile_times(samples).value();
    case Statistic::mean: return mean_times(samples).value();
  }
  throw Defect("a statistic without times");
}

std::vector<RepetitionTime> compared_times(const SamplesRecord& samples) {
  const SamplesRecord* const run = &samples;
  return times_of(samples, compared_by({&run, 1}).typical);
}

LogTimes by_class(std::span<const RepetitionTime> times) {
  LogTimes classes;
  for (const RepetitionTime& time : times)
    if (time.log_time) classes[time.placement].push_back(*time.log_time);
  return classes;
}

void append(const LogTimes& more, LogTimes& to) {
  for (const auto& [placement, values] : more)
    to[placement].insert(to[placement].end(), values.begin(), values.end());
}

std::vector<double> deviations_of(const LogTimes& classes) {
  std::vector<double> all;
  for (const auto& [placement, times] : classes) {
    const double middle = mean(times);
    for (const double time : times) all.push_back(time - middle);
  }
  return all;
}

}  // namespace ptbench
