#pragma once

#include <cmath>
#include <numbers>

namespace ptbench::reference {

/// Φ, the distribution function of the normal distribution.
[[nodiscard]] inline double normal_distribution(double value) {
  return 0.5 * std::erfc(-value / std::numbers::sqrt2);
}

/// x·Φ(x) (Hendrycks and Gimpel 2016, "Gaussian Error Linear Units").
[[nodiscard]] inline double gelu(double value) { return value * normal_distribution(value); }

/// Φ(x) + x·φ(x) with the normal density φ.
[[nodiscard]] inline double gelu_derivative(double value) {
  constexpr double kDensityAtZero = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return normal_distribution(value) + value * kDensityAtZero * std::exp(-0.5 * value * value);
}

}  // namespace ptbench::reference
