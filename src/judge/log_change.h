#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/judge/comparison.h"
#include "src/judge/rounds.h"
#include "src/measure/prior_noise.h"
#include "src/measure/spread.h"

namespace ptbench {

/// Levels of confidence. A verdict errs in 1 of 100 equal programs at most.
inline constexpr double kVerdictLevel = 0.99;
/// The level for the mean step, the second thing that a run is judged by: it adds a tenth to the
/// errors.
inline constexpr double kMeanLevel = 0.999;

/// How a change's interval is found.
struct IntervalRule {
  double level = kVerdictLevel;
  /// Whether a spread with its own degrees of freedom counts where that makes the interval wider
  /// than the one that was drawn towards the prior does.
  bool own_spread = false;
};
/// Priors know medians and quartiles. Means may scatter far more, as slow steps come and go.
inline constexpr IntervalRule kTypicalRule{};
inline constexpr IntervalRule kMeanRule{.level = kMeanLevel, .own_spread = true};

/// How far two sides are apart where every repetition of one is slower than all of the other.
struct Separation {
  double gap = 0;  ///< of the logarithms; 0 where they overlap, or where one side has fewer than 5
  /// How often equal programs come apart, in either direction: 2 / C(n + m, n), at most 0.008.
  double p_value = 1;
};

/// How the logarithm of a step's time changes from BASE to NEW.
struct LogChange {
  double estimate = 0;           ///< e: NEW less BASE
  double half_width = 0;         ///< of its interval
  double level = kVerdictLevel;  ///< of the interval
  double standard_error = 1;
  double degrees_of_freedom = 1;
  Separation separation;  ///< in the direction of the estimate
  Size rounds = 0;        ///< whose differences it is the mean of; 0: a difference of means
  // In the placement class that weighs most:
  std::string placement;
  double base_log_time = 0;  ///< mean of the logarithms
  double new_log_time = 0;
  /// The spread of a repetition: in that class, or in its round, whatever its class.
  Spread spread;
  double usual = 0;  ///< the prior's standard deviation of the same
};

/// Estimates changes. Quantiles are kept, so that thousands of runs are compared at once.
class ChangeEstimator {
 public:
  /// `prior` outlives the estimator.
  explicit ChangeEstimator(const PriorNoise& prior, const IntervalRule& rule = kTypicalRule)
      : prior_(prior), rule_(rule) {}

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
  [[nodiscard]] double quantile(double degrees_of_freedom);
  void set_error(double standard_error, double degrees_of_freedom, LogChange& change);

  const PriorNoise& prior_;
  IntervalRule rule_;
  std::map<double, double> quantiles_;  ///< by degrees of freedom
};

/// Takes into account that the estimate deviates besides, for a reason that repetitions do not
/// show, by a standard deviation that is known (the degrees of freedom are Satterthwaite's). Sides
/// are less apart by as much as the interval becomes wider.
void add_deviation(double deviation, LogChange& change);

/// `spread_of`, or the groups' own spread by `rule`. Unusual where `spread_of` says so.
[[nodiscard]] Spread spread_by(const IntervalRule& rule,
                               std::span<const std::vector<double>> groups, double prior);

/// The gap between sides whose placement classes with at least 5 repetitions a side, at least one,
/// are all apart in the direction of `estimate`; the least gap.
[[nodiscard]] Separation separation_of(const LogTimes& base, const LogTimes& fresh,
                                       double estimate);

/// same, faster, slower or ambiguous, by the rule of `compare`:
///
/// slower / faster: |e| > detect / 2, and the interval leaves out 0 or the sides are apart by more
/// than detect / 2. Of an unusual spread no interval is believed, unless the sides are apart so.
/// same: the spread is usual, |e| ≤ detect / 2, and the interval lies within ± detect.
[[nodiscard]] Verdict verdict_of(const LogChange& change, double detect);

/// How often equal programs differ so clearly, on the scale of a level of 99 %: at most 0.01 where
/// `verdict_of` says slower or faster, else 1.
[[nodiscard]] double p_value_of(const LogChange& change, double detect);

}  // namespace ptbench
