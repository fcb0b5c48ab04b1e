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
  Size rounds = 0;        ///< whose differences it is the mean of; 0: a difference of means
  // Of the placement class that weighs most:
  std::string placement;
  double base_log_time = 0;  ///< mean of the logarithms
  double new_log_time = 0;
  /// Of a repetition: in that class, or in its round, whatever its class.
  Spread spread;
  double usual = 0;  ///< the prior's standard deviation of the same
};

/// Estimates changes. Quantiles are kept, so that thousands of runs are compared at once.
class ChangeEstimator {
 public:
  /// `prior` outlives the estimator.
  explicit ChangeEstimator(const PriorNoise& prior) : prior_(prior) {}

  /// The difference of the means, from the placement classes with at least 2 repetitions on both
  /// sides, which together have at least `kLeastRepetitions` a side: combined by inverse variance,
  /// with the degrees of freedom of Satterthwaite ("An approximate distribution of estimates of
  /// variance components", 1946). Classes whose spread is unusual are left out where the others are
  /// enough; where they are not, the change's spread is unusual.
  ///
  /// Or the mean of the differences of at least `kLeastRepetitions` rounds, of whatever classes:
  /// what a class costs cancels out, and what slows a round. They speak where there are too few
  /// repetitions for the means; else only if sides are slow in the same rounds (`rise_together`,
  /// about the means of the classes), their spread is usual, and they tell more: their interval is
  /// narrower, or the spread of the means is unusual. Without that condition they would be taken
  /// where the differences happen to agree.
  ///
  /// Empty where there are too few repetitions for either.
  [[nodiscard]] std::optional<LogChange> operator()(const LogTimes& base, const LogTimes& fresh,
                                                    std::span<const Round> rounds = {});

 private:
  [[nodiscard]] std::optional<LogChange> by_means(const LogTimes& base, const LogTimes& fresh);
  [[nodiscard]] std::optional<LogChange> by_rounds(std::span<const Round> rounds);
  [[nodiscard]] double quantile99(double degrees_of_freedom);

  const PriorNoise& prior_;
  std::map<double, double> quantiles_;  ///< by degrees of freedom
};

/// same, faster, slower or ambiguous, by the rule of `compare`. A change among unusual spreads is
/// ambiguous.
[[nodiscard]] Verdict verdict_of(const LogChange& change, double detect);

}  // namespace ptbench
