#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/measure/prior_noise.h"
#include "src/measure/record.h"
#include "src/measure/spread.h"

namespace ptbench {

/// The repetitions that count for a run: the clean ones of `counted_class`, or all that have a
/// median, with all of their slices, where none is clean. Of a run that took turns with others
/// (`RepetitionRecord::lockstep`, of at least `kLeastRepetitions`) all count where fewer than
/// `kLeastRepetitions` are clean: so few say less of its ratio to the others than the turns that it
/// had with them.
struct CountedRepetitions {
  std::string placement;            ///< class; empty: all count, clean or not
  std::vector<std::size_t> places;  ///< among all repetitions, ascending
  std::vector<double> log_medians;  ///< of seconds, one a place
  std::vector<double> log_means;  ///< of their mean steps: the median's where samples are left out

  [[nodiscard]] Size count() const { return std::ssize(places); }
  [[nodiscard]] bool are_clean() const { return !placement.empty(); }
};
[[nodiscard]] CountedRepetitions counted_repetitions(const SamplesRecord& samples);

/// The spread of `logs`, one for each repetition that counts. What the host usually does says
/// nothing of repetitions that were disturbed: without a clean one the prior is not asked.
[[nodiscard]] Spread spread_of_counted(const CountedRepetitions& counted,
                                       const std::vector<double>& logs, const PriorNoise& prior);

/// How well the mean of some values is known.
struct MeanError {
  double variance = 0;            ///< of the mean: s²/n
  double degrees_of_freedom = 1;  ///< that s² is known with
};
/// The error of the mean of `logs`, one for each repetition that counts, at least one.
[[nodiscard]] MeanError error_of_counted(const CountedRepetitions& counted,
                                         const std::vector<double>& logs, const PriorNoise& prior);
/// Half width of the interval of a sum of independent means that covers the truth with `level`:
/// t·√Σv, with degrees of freedom after Welch ("The generalization of Student's problem", 1947).
/// Weights, where the means have some, are in the variances.
[[nodiscard]] double welch_half_width(std::span<const MeanError> errors, double level);

/// Whether a slice of the repetition is known to be clean: then the repetition is.
[[nodiscard]] inline bool has_clean_slice(const RepetitionRecord& repetition) {
  return repetition.clean_slices.value_or(0) > 0;
}
/// Clean repetitions, in whatever placement.
[[nodiscard]] Size count_clean(const SamplesRecord& samples);
/// Clean repetitions of the class that counts for a run.
[[nodiscard]] Size clean_repetitions(const SamplesRecord& samples);

/// For each repetition, whether it is not known if something disturbed it: it has no clean slice,
/// and that is so of most of its slices. Such a repetition counts as little as a disturbed one.
[[nodiscard]] std::vector<bool> are_unknown(const SamplesRecord& samples);
/// How many are unknown.
[[nodiscard]] Size unknown_repetitions(const SamplesRecord& samples);
/// What stands behind how many are clean: ", 5 unknown"; empty where there are none.
[[nodiscard]] std::string unknown_text(Size unknown);

}  // namespace ptbench
