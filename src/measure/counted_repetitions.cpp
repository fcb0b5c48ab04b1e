#include "src/measure/counted_repetitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/measure/repetition_times.h"
#include "src/measure/statistics.h"

namespace ptbench {

namespace {

bool took_turns(const SamplesRecord& samples) {
  return std::ranges::count_if(samples.repetitions, [](const RepetitionRecord& repetition) {
           return repetition.lockstep.has_value();
         }) >= kLeastRepetitions;
}

}  // namespace

CountedRepetitions counted_repetitions(const SamplesRecord& samples) {
  const std::vector<RepetitionTime> times = median_times(samples);
  const LogTimes classes = by_class(times);
  const LogTimes::value_type* counted = counted_class(classes);
  const bool too_few = counted != nullptr && std::ssize(counted->second) < kLeastRepetitions;
  if (too_few && took_turns(samples)) counted = nullptr;
  const auto slices = counted == nullptr ? SpeakingSlices::all : SpeakingSlices::clean;
  const std::vector<std::optional<double>> medians = log_medians(samples, slices);
  const std::vector<std::optional<double>> means = log_means(samples, slices);
  CountedRepetitions result;
  if (counted != nullptr) result.placement = counted->first;
  for (std::size_t place = 0; place < times.size(); ++place) {
    const RepetitionTime& time = times[place];
    const bool counts = counted == nullptr || (time.log_time && time.placement == counted->first);
    if (!counts || !medians[place]) continue;
    result.places.push_back(place);
    result.log_medians.push_back(*medians[place]);
    result.log_means.push_back(means[place].value_or(*medians[place]));
  }
  return result;
}

Spread spread_of_counted(const CountedRepetitions& counted, const std::vector<double>& logs,
                         const PriorNoise& prior) {
  if (!counted.placement.empty()) return spread_of({&logs, 1}, prior.of(counted.placement));
  return {.standard_deviation = standard_deviation(logs).value_or(0),
          .degrees_of_freedom = static_cast<double>(logs.size() - 1)};
}

MeanError error_of_counted(const CountedRepetitions& counted, const std::vector<double>& logs,
                           const PriorNoise& prior) {
  const Spread spread = spread_of_counted(counted, logs, prior);
  return {.variance = spread.standard_deviation * spread.standard_deviation /
                      static_cast<double>(logs.size()),
          .degrees_of_freedom = spread.degrees_of_freedom};
}

double welch_half_width(std::span<const MeanError> errors, double level) {
  double variance = 0;
  double inverse_degrees = 0;
  for (const MeanError& error : errors) {
    variance += error.variance;
    if (error.variance > 0)
      inverse_degrees += error.variance * error.variance / error.degrees_of_freedom;
  }
  if (variance <= 0) return 0;
  return t_quantile((1 + level) / 2, variance * variance / inverse_degrees) * std::sqrt(variance);
}

Size count_clean(const SamplesRecord& samples) {
  return std::ranges::count_if(samples.repetitions, has_clean_slice);
}

Size clean_repetitions(const SamplesRecord& samples) {
  const LogTimes classes = clean_log_times(samples);
  const LogTimes::value_type* counted = counted_class(classes);
  return counted == nullptr ? 0 : std::ssize(counted->second);
}

std::vector<bool> are_unknown(const SamplesRecord& samples) {
  std::vector<Size> balance(samples.repetitions.size());  // unknown slices less the others
  for (const SliceRecord& slice : samples.slices)
    if (slice.repetition >= 0 && slice.repetition < std::ssize(balance))
      balance[static_cast<std::size_t>(slice.repetition)] += slice.clean ? -1 : 1;
  std::vector<bool> unknown;
  for (std::size_t at = 0; at < balance.size(); ++at)
    unknown.push_back(!has_clean_slice(samples.repetitions[at]) && balance[at] > 0);
  return unknown;
}

Size unknown_repetitions(const SamplesRecord& samples) {
  return std::ranges::count(are_unknown(samples), true);
}

std::string unknown_text(Size unknown) {
  return unknown == 0 ? std::string() : fmt::format(", {} unknown", unknown);
}

}  // namespace ptbench
