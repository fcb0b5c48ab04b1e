#pragma once

#include <span>
#include <vector>

#include "src/base/size.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"
#include "src/measure/repetition_times.h"

namespace ptbench {

/// Clean repetitions of one placement class that an interval or a verdict needs.
inline constexpr Size kLeastRepetitions = 3;

/// Logarithms of clean repetitions' medians.
[[nodiscard]] LogTimes clean_log_times(const SamplesRecord& samples);

/// The class that speaks for a run: the one with the most clean repetitions (near, where it has as
/// many as another); null where none is clean. Points into `classes`.
[[nodiscard]] const LogTimes::value_type* counted_class(const LogTimes& classes);

/// How many times what is usual a standard deviation is unusual.
inline constexpr double kUnusualSpread = 3;

/// A standard deviation and how well it is known.
struct Spread {
  double standard_deviation = 0;
  double degrees_of_freedom = 0;
  bool unusual = false;  ///< far beyond what the host usually does: `kUnusualSpread` × the prior's
};

/// The standard deviation within groups of values (each about its own mean), pooled and drawn
/// towards the prior's s0, which counts as 10 degrees of freedom: s² = (10·s0² + ν·s²) / (10 + ν).
/// Where s is over 3·s0, s itself with its own ν. Groups of one value or none add nothing; `prior`
/// is positive.
[[nodiscard]] Spread spread_of(std::span<const std::vector<double>> groups, double prior);

/// The standard deviation within groups alone, with its own degrees of freedom: none, and 0, where
/// no group has two values.
[[nodiscard]] Spread own_spread_of(std::span<const std::vector<double>> groups);

/// Quantile p, within (0, 1), of Student's t distribution; `degrees_of_freedom` > 0.
[[nodiscard]] double t_quantile(double p, double degrees_of_freedom);

/// How often Student's t is beyond ± `t`: the two-sided p-value; `degrees_of_freedom` > 0.
[[nodiscard]] double t_p_value(double t, double degrees_of_freedom);

/// Half width of the interval of a mean of `count` values that covers the truth with `level`
/// (0.95): t·s/√n.
[[nodiscard]] double half_width(const Spread& spread, Size count, double level);

/// Whether values of equal places rise and fall together: Pearson's correlation is beyond the 95 %
/// quantile of what independent normal values have (one-sided), so that luck is seldom taken for
/// it. `degrees_of_freedom`: of n values a side, n − 2, and one less for each further mean that
/// they deviate from. False where there are none left.
[[nodiscard]] bool rise_together(std::span<const double> one, std::span<const double> other,
                                 double degrees_of_freedom);

/// Whether a run may stop: the class that speaks for it has at least 3 clean repetitions, and half
/// the width of their 95 % interval is at most `target_noise` (a fraction).
[[nodiscard]] bool is_precise_enough(const SamplesRecord& samples, double target_noise,
                                     const PriorNoise& prior);

}  // namespace ptbench
