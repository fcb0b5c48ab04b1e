#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

/// What a repetition says of the time of a step.
struct RepetitionTime {
  std::string placement;                       ///< "near", "far", or `kOneCore`
  std::optional<double> log_time;              ///< of seconds; empty: the repetition is not clean
  std::optional<double> started_unix_seconds;  ///< empty where that is not known
  /// Of the mean clock of the cores over the slices that speak for the repetition, in hertz; empty
  /// where one of them does not know it.
  std::optional<double> log_hertz = std::nullopt;
};

/// The natural logarithm of the median of each repetition, in their order, so that differences are
/// ratios. Clean is one with a median and at least one clean slice.
[[nodiscard]] std::vector<RepetitionTime> median_times(const SamplesRecord& samples);

/// The logarithm of its lower quartile instead. What disturbs a machine makes steps slower, never
/// faster, and seldom all of them, so that quartiles of equal processes scatter less than their
/// medians. Empty where a clean repetition has none.
[[nodiscard]] std::optional<std::vector<RepetitionTime>> quartile_times(
    const SamplesRecord& samples);

/// Which slices speak for a repetition.
enum class SpeakingSlices {
  clean,  ///< of its placement; all where it has none
  all,    ///< clean or not
};

/// The mean step of the repetition of that number over the slices that speak for it. Empty where
/// samples were left out and it was not kept.
[[nodiscard]] std::optional<double> mean_seconds(const SamplesRecord& samples, Size number);

/// The mean step over the slices that speak for these repetitions, all of them together. Empty
/// where samples were left out.
[[nodiscard]] std::optional<double> pooled_mean_seconds(const SamplesRecord& samples,
                                                        std::span<const std::size_t> places,
                                                        SpeakingSlices slices);

/// Where the cores were during that repetition: its placement, else that of most of its slices.
/// Empty on one core, and where no slice knows it.
[[nodiscard]] std::optional<std::string> placement_at(const SamplesRecord& samples, Size number);

/// Keeps the mean of each repetition, so that samples may be left out.
void keep_means(SamplesRecord& samples);

/// As `median_times`, of means. Empty where a clean repetition has none.
[[nodiscard]] std::optional<std::vector<RepetitionTime>> mean_times(const SamplesRecord& samples);

/// The natural logarithm of the mean step of each repetition; its median where that is not known,
/// empty where it has neither. Where samples were left out, the clean slices speak in any case.
[[nodiscard]] std::vector<std::optional<double>> log_means(
    const SamplesRecord& samples, SpeakingSlices slices = SpeakingSlices::clean);

/// The natural logarithm of the median of each repetition; where all slices speak, the median of
/// their medians. Empty where it has none.
[[nodiscard]] std::vector<std::optional<double>> log_medians(const SamplesRecord& samples,
                                                             SpeakingSlices slices);

/// What of a repetition's steps is compared.
enum class Statistic {
  median,
  lower_quartile,
  mean,
};
[[nodiscard]] std::string_view name_of(Statistic statistic);

/// What runs are compared by.
struct ComparedBy {
  Statistic typical = Statistic::median;
  std::optional<Statistic> whole;  ///< beside it: what slow steps are part of
};
/// What these runs have in common: the lower quartile, else the median; beside it the mean, else,
/// beside a quartile, the median.
[[nodiscard]] ComparedBy compared_by(std::span<const SamplesRecord* const> runs);

/// The times by that statistic, of a run that has it.
[[nodiscard]] std::vector<RepetitionTime> times_of(const SamplesRecord& samples,
                                                   Statistic statistic);

/// What comparisons of a run go by: quartiles where there are any, else medians.
[[nodiscard]] std::vector<RepetitionTime> compared_times(const SamplesRecord& samples);

/// Logarithms of clean repetitions' times, by placement class, in their order.
using LogTimes = std::map<std::string, std::vector<double>>;
[[nodiscard]] LogTimes by_class(std::span<const RepetitionTime> times);
void append(const LogTimes& more, LogTimes& to);
/// What repetitions deviate by from their class's own mean, one class after the other.
[[nodiscard]] std::vector<double> deviations_of(const LogTimes& classes);

}  // namespace ptbench
