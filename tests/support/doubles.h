#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "kernels/tensor.h"
#include "src/base/random.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {

using Doubles = std::vector<double>;

[[nodiscard]] inline Doubles widened(std::span<const float> values) {
  return {values.begin(), values.end()};
}

/// Weights as they are multiplied with activations of `type`.
[[nodiscard]] inline Doubles multiplied_as(ElementType type, std::span<const float> weights) {
  Doubles values = widened(weights);
  with_element(type, [&]<class T>(T) {
    for (double& value : values) value = double{to_float(from_float<T>(static_cast<float>(value)))};
  });
  return values;
}

/// A bias as it is added to products of `type`: libraries for CUDA devices add one that is rounded
/// to the type of their result.
[[nodiscard]] inline Doubles added_as(ElementType type, std::span<const float> bias) {
  return tested_device() ? multiplied_as(type, bias) : widened(bias);
}

[[nodiscard]] inline Doubles magnitudes(Doubles values) {
  for (double& value : values) value = std::abs(value);
  return values;
}

/// Uniform in [-1, 1), a function of its arguments.
[[nodiscard]] inline Doubles drawn_doubles(Size elements, std::uint64_t stream) {
  const CounterRandom random(11, stream);
  Doubles values;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(elements); ++i)
    values.push_back(double{random.uniform(i, -1, 1)});
  return values;
}

[[nodiscard]] inline double weighted_sum(const Doubles& values, const Doubles& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * weights[i];
  return sum;
}

/// The first element of `gradient` that is not the derivative of `loss` in that element of
/// `variables`, or −1 (−2 when the lengths differ): central differences. In double with steps of
/// 1e-5 the truncation (h²/6 of the third derivative) and the rounding (ε/h) both stay below 1e-10
/// for functions and derivatives of about one; a wrong term would be off by some percent.
[[nodiscard]] inline std::ptrdiff_t first_wrong_derivative(Doubles& variables,
                                                           const Doubles& gradient,
                                                           const std::function<double()>& loss,
                                                           double margin = 1e-9) {
  constexpr double kStep = 1e-5;
  if (variables.size() != gradient.size()) return -2;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const double kept = variables[i];
    variables[i] = kept + kStep;
    const double above = loss();
    variables[i] = kept - kStep;
    const double below = loss();
    variables[i] = kept;
    if (!(std::abs(gradient[i] - (above - below) / (2 * kStep)) <= margin))
      return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace ptbench::testing
