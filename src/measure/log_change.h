#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "src/measure/comparison.h"
#include "src/measure/prior_noise.h"
#include "src/measure/rounds.h"
#include "src/measure/spread.h"

namespace ptbench {

/// How the logarithm of a step's time changes from BASE to NEW.
struct LogChange {
  double estimate = 0;    ///< e: NEW less BASE
  double half_width = 0;  ///< of its 99 % interval
  // Of the placement class that weighs most:
  std::string placement;
  double base_log_time = 0;  ///< mean of the logarithms
  double new_log_time = 0;
  Spread spread;    ///< of one repetition
  Size rounds = 0;  ///< whose differences it is the mean of; 0: a difference of means
};

/// Estimates changes. Quantiles are kept, so that thousands of runs are compared at once.
class ChangeEstimator {
 public:
  /// `prior` outlives the estimator.
  explicit ChangeEstimator(const PriorNoise& prior) : prior_(prior) {}

  /// By means or by rounds: the one without an unusual spread, else the narrower interval. Empty
  /// where there are too few repetitions for either.
  [[nodiscard]] std::optional<LogChange> operator()(const SamplesRecord& base,
                                                    const SamplesRecord& fresh);

  /// From the placement classes with at least 2 repetitions on both sides, which together have at
  /// least `kLeastRepetitions` a side: combined by inverse variance, with the degrees of freedom of
  /// Satterthwaite ("An approximate distribution of estimates of variance components", 1946).
  /// Classes whose spread is unusual are left out where the others are enough; where they are not,
  /// the change's spread is unusual.
  [[nodiscard]] std::optional<LogChange> by_means(const LogTimes& base, const LogTimes& fresh);

  /// The mean of the differences of at least `kLeastRepetitions` rounds, of whatever classes: what
  /// a class costs cancels out. The prior's variance of a difference is twice that of a repetition.
  [[nodiscard]] std::optional<LogChange> by_rounds(std::span<const Round> rounds);

 private:
  [[nodiscard]] double quantile99(double degrees_of_freedom);

  const PriorNoise& prior_;
  std::map<double, double> quantiles_;  ///< by degrees of freedom
};

/// same, faster, slower or ambiguous, by the rule of `compare`. A change among unusual spreads is
/// ambiguous.
[[nodiscard]] Verdict verdict_of(const LogChange& change, double detect);

}  // namespace ptbench
