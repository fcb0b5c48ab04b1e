#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/base/size.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

struct ScalingPoint {
  Size ranks = 1;
  double speedup = 1;
  MeanError error = {};  ///< of the logarithm of its step time
};

/// Numbers of ranks that tell a law from a line through two points.
inline constexpr Size kLeastRankCounts = 3;

/// The part of a step that more ranks do not make faster.
struct SerialFraction {
  double fraction = 0;      ///< s, in [0, 1]
  Interval ci95;            ///< of s, in [0, 1]
  double unit_speedup = 1;  ///< of one rank, which the others' speedups are over

  /// Amdahl's limit, in the unit of the points, were s so large; empty: there is none.
  [[nodiscard]] std::optional<double> largest_speedup(double of_fraction) const {
    return of_fraction > 0 ? std::optional(unit_speedup / of_fraction) : std::nullopt;
  }
};
/// Least squares over all points of, in strong scaling, Amdahl's law ("Validity of the single
/// processor approach to achieving large scale computing capabilities", 1967),
///   S(n) = 1 / (s + (1 − s) / n), in the form 1/S − 1/n = s · (1 − 1/n),
/// and in weak scaling of Gustafson's ("Reevaluating Amdahl's law", 1988),
///   S(n) = n − s · (n − 1).
/// S is over the point of one rank, where there is one. Both are s = Σxy / Σx²; that of Amdahl's
/// law is a mean of Karp and Flatt's metric ("Measuring parallel processor performance", 1990).
///
/// The interval is by the delta method: with r = 1/S (weak: S), s moves by Σxr·ε / Σx² with the
/// errors ε of the logarithms of the points' times, and by as much the other way with that of the
/// time that they are over: the point's of one rank, else `baseline`'s. It knows noise alone, not
/// how badly a law fits.
///
/// Empty with fewer than 3 different n; speedups are positive.
[[nodiscard]] std::optional<SerialFraction> fit_serial_fraction(
    ScalingMode mode, std::span<const ScalingPoint> points, const MeanError& baseline);

/// Runs of one strategy that differ in the number of ranks, and in what follows from it.
struct ScalingFamily {
  std::vector<const RunRecord*> runs;  ///< by ascending number; points into what it was made from
  /// Over runs of at least 3 clean repetitions; empty where their numbers of ranks, or the clean
  /// repetitions of the baseline, are fewer than 3.
  std::optional<SerialFraction> serial_fraction;
};
/// The families of the runs with a scaling, but for those without a run of several ranks; in the
/// order in which they begin in `runs`.
[[nodiscard]] std::vector<ScalingFamily> scaling_families(std::span<const RunRecord> runs,
                                                          const PriorNoise& prior = {});

}  // namespace ptbench
