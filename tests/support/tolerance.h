#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "src/base/size.h"

namespace ptbench::testing {

/// What a float result should be, computed in double, and how far rounding alone may take it.
struct Expected {
  double value = 0;
  double tolerance = 0;
};

/// A sum of `terms` products in float is off by about √terms · ε · Σ|x·w| when rounding errors are
/// independent, in any order of summation (the proven bound has `terms` for the root: Higham,
/// "Accuracy and Stability of Numerical Algorithms", §3.1; Higham and Mary 2019 for the root).
/// Twice that leaves room for bias, sum over threads and bad luck, and is still ten times tighter
/// than products in bf16 or tf32 would need.
[[nodiscard]] inline double sum_tolerance(Size terms, double sum_of_magnitudes) {
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  return 2 * kEpsilon * std::sqrt(static_cast<double>(terms)) * sum_of_magnitudes;
}

/// The first element of `actual` that is not within tolerance (NaN never is), or −1; −2 when the
/// lengths differ.
[[nodiscard]] inline Size first_outside(std::span<const float> actual,
                                        std::span<const Expected> expected) {
  if (actual.size() != expected.size()) return -2;
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (!(std::abs(actual[i] - expected[i].value) <= expected[i].tolerance))
      return static_cast<Size>(i);
  return -1;
}

}  // namespace ptbench::testing
