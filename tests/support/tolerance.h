#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/tensor.h"
#include "src/base/size.h"

namespace ptbench::testing {

/// What a result should be, computed in double, and how far rounding alone may take it.
struct Expected {
  double value = 0;
  double tolerance = 0;
};

constexpr double kFloatEpsilon = std::numeric_limits<float>::epsilon();
/// Values below float's normal range may be flushed to zero.
constexpr double kFlushed = std::numeric_limits<float>::min();
/// Half the distance of neighbours, relative to their value: bf16 has 8 significant bits, f16 has
/// 11.
constexpr double kBf16Roundoff = 1.0 / 256;
constexpr double kF16Roundoff = 1.0 / 2048;
[[nodiscard]] constexpr double roundoff_of(ElementType narrow) {
  return narrow == ElementType::f16 ? kF16Roundoff : kBf16Roundoff;
}

/// A sum of `terms` products in float is off by about √terms · ε · Σ|x·w| when rounding errors are
/// independent, in any order of summation (the proven bound has `terms` for the root: Higham,
/// "Accuracy and Stability of Numerical Algorithms", §3.1; Higham and Mary 2019 for the root).
/// Twice that leaves room for bias, sum over threads and bad luck, and is still ten times tighter
/// than products in bf16 or tf32 would need.
[[nodiscard]] inline double sum_tolerance(Size terms, double sum_of_magnitudes) {
  return 2 * kFloatEpsilon * std::sqrt(static_cast<double>(terms)) * sum_of_magnitudes;
}

/// The same of products of factors that are multiplied as `factors`. tf32 leaves ten bits of
/// fraction of each, rounded or cut off.
[[nodiscard]] inline double product_tolerance(ElementType factors, Size terms,
                                              double sum_of_magnitudes) {
  constexpr double kSpacing = 1.0 / 1024;
  const double rounded_factors = factors == ElementType::tf32 ? 2 * kSpacing : 0;
  return sum_tolerance(terms, sum_of_magnitudes) + rounded_factors * sum_of_magnitudes;
}

/// A result that was computed in float within `tolerance` and kept as `type`. Rounding to narrow
/// types adds half the distance of neighbours, of whatever the float was; f16's denormal numbers
/// have a distance of their own.
[[nodiscard]] inline Expected kept_as(ElementType type, double value, double tolerance) {
  tolerance += kFlushed;
  if (kept_type(type) == ElementType::f32) return {value, tolerance};
  constexpr double kHalfDenormal = 1.0 / (1U << 25U);
  if (type == ElementType::f16) tolerance += kHalfDenormal;
  return {value, tolerance + roundoff_of(type) * (std::abs(value) + tolerance)};
}

/// Winograd's convolutions multiply sums and differences of inputs and of weights, not the values
/// themselves (Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks").
[[nodiscard]] inline bool is_winograd(std::string_view candidate) {
  return candidate.find("winograd") != std::string_view::npos;
}

/// A sum of products as direct computation and, in `winograd`, as Winograd's gives it. F(4×4, 3×3)
/// in float has 4 times the root mean square error of a direct sum: 4 times the tolerance. In bf16
/// the transformed factors are rounded before they are multiplied: a product is off by about 0.6
/// roundoffs (two independent ones, each uniform), and transformed factors are √(4 · 0.8) times as
/// large as plain ones: about one roundoff of √terms products, which is 4/3 · Σ|x·w| / √terms where
/// both factors are uniform. Six times that for the worst of thousands of elements, and the
/// rounding of the result.
[[nodiscard]] inline Expected expected_sum(ElementType result, ElementType factors, double value,
                                           double sum_of_magnitudes, Size terms, bool winograd) {
  const double direct = product_tolerance(factors, terms, sum_of_magnitudes);
  if (!winograd) return kept_as(result, value, direct);
  if (factors == ElementType::f32) return kept_as(result, value, 4 * direct);
  const double rounded_factors =
      6 * 4.0 / 3 * kBf16Roundoff * sum_of_magnitudes / std::sqrt(static_cast<double>(terms));
  return kept_as(result, value, direct + rounded_factors);
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
