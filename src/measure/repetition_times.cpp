#include "src/measure/repetition_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "src/measure/prior_noise.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr std::size_t kLeastSamples = 20;
constexpr double kLowerQuartile = 0.25;

bool is_time(double seconds) { return seconds > 0 && std::isfinite(seconds); }

/// In ascending order, by repetition.
std::vector<std::vector<double>> clean_samples_of(const SamplesRecord& samples) {
  std::vector<std::vector<double>> all(samples.repetitions.size());
  const Size recorded = std::ssize(samples.step_seconds);
  for (const SliceRecord& slice : samples.slices) {
    const bool exists = slice.repetition >= 0 && slice.repetition < std::ssize(all) &&
                        slice.first >= 0 && slice.count >= 0 && slice.first <= recorded &&
                        slice.count <= recorded - slice.first;
    if (!exists || !slice.clean) continue;
    const auto number = static_cast<std::size_t>(slice.repetition);
    if (slice.placement != samples.repetitions[number].placement) continue;
    const auto begin = samples.step_seconds.begin() + slice.first;
    all[number].insert(all[number].end(), begin, begin + slice.count);
  }
  for (std::vector<double>& of_one : all) std::ranges::sort(of_one);
  return all;
}

}  // namespace

std::vector<RepetitionTime> median_times(const SamplesRecord& samples) {
  std::vector<RepetitionTime> times;
  times.reserve(samples.repetitions.size());
  for (const RepetitionRecord& repetition : samples.repetitions) {
    const double seconds = repetition.median_seconds.value_or(0);
    const bool is_clean = repetition.clean_slices.value_or(0) >= 1 && is_time(seconds);
    times.push_back({.placement = repetition.placement.value_or(std::string(kOneCore)),
                     .log_time = is_clean ? std::optional(std::log(seconds)) : std::nullopt,
                     .started_unix_seconds = repetition.started_unix_seconds});
  }
  return times;
}

std::optional<std::vector<RepetitionTime>> quartile_times(const SamplesRecord& samples) {
  std::vector<RepetitionTime> times = median_times(samples);
  const std::vector<std::vector<double>> sorted = clean_samples_of(samples);
  for (std::size_t number = 0; number < times.size(); ++number) {
    if (!times[number].log_time) continue;
    if (sorted[number].size() < kLeastSamples) return std::nullopt;
    const double seconds = quantile(sorted[number], kLowerQuartile);
    if (!is_time(seconds)) return std::nullopt;
    times[number].log_time = std::log(seconds);
  }
  return times;
}

std::vector<RepetitionTime> compared_times(const SamplesRecord& samples) {
  auto quartiles = quartile_times(samples);
  return quartiles ? std::move(*quartiles) : median_times(samples);
}

LogTimes by_class(std::span<const RepetitionTime> times) {
  LogTimes classes;
  for (const RepetitionTime& time : times)
    if (time.log_time) classes[time.placement].push_back(*time.log_time);
  return classes;
}

}  // namespace ptbench
