#pragma once

#include <optional>
#include <span>

namespace ptbench {

// All functions of several values need at least one finite value; more is said where more is
// needed.

/// Whether it is known, finite and above 0.
[[nodiscard]] bool is_positive(const std::optional<double>& value);

/// Arithmetic mean.
[[nodiscard]] double mean(std::span<const double> values);

/// Sample standard deviation, √(Σ(x − mean)² / (n − 1)), in two passes (Chan, Golub, LeVeque 1983);
/// empty for n = 1, where it is not defined.
[[nodiscard]] std::optional<double> standard_deviation(std::span<const double> values);

/// Quantile p in [0, 1] of ascending values, linear between order statistics: definition 7 of
/// Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996 (NumPy's and R's default).
[[nodiscard]] double quantile(std::span<const double> sorted, double p);

/// A value and how much it counts, above 0.
struct Weighted {
  double value = 0;
  double weight = 1;
};
/// The same of ascending values that do not count alike: linear between points that stand in the
/// middle of their weights. With equal weights it is `quantile`.
[[nodiscard]] double weighted_quantile(std::span<const Weighted> sorted, double p);

/// Quantile 1/2 of values in any order.
[[nodiscard]] double median(std::span<const double> values);

/// What is told of a set of measured values, all in the values' unit.
struct Summary {
  double median = 0;
  double mean = 0;
  std::optional<double> standard_deviation;
  double min = 0;
  double max = 0;
  double p10 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
};

[[nodiscard]] Summary summarize(std::span<const double> values);

}  // namespace ptbench
