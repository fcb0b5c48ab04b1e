#pragma once

#include "kernels/cpu/vector.h"

namespace ptbench::simd {

/// The standard normal distribution at x: Φ(x) and φ(x).
template <class Vector>
struct Normal {
  Vector cumulative;
  Vector density;
};

/// exp(x) for x ≤ 0, to single precision; 0 below -87, where float's range ends. NaN stays NaN.
/// Cody & Waite's reduction to [-ln 2 / 2, ln 2 / 2], polynomial of the Cephes library.
template <class Vector>
[[gnu::always_inline]] inline Vector exp_of_negative(const Vector& x) {
  constexpr float kRounder = 12582912.0F;  // 1.5·2^23: what is added to it is rounded to an integer
  constexpr float kLeast = -87.0F;
  const Vector clamped = select_less(x, kLeast, Vector::all(kLeast), x);
  const Vector exponent = (clamped * 1.44269504F + kRounder) - kRounder;
  const Vector r = (clamped - exponent * 0.693359375F) - exponent * -2.12194440e-4F;
  Vector p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const Vector power = Vector::make([&](int i) __attribute__((always_inline)) {
    const auto integers = __builtin_convertvector(exponent.part[i], typename Vector::Integers);
    return reinterpret_cast<typename Vector::Part>((integers + 127) << 23);
  });
  return select_less(x, kLeast, Vector::all(0), p * power);
}

/// Φ(-a) = exp(-a²/2)·t·P(t) with t = 1/(1 + 0.24·a) for a ≥ 0, relative error of P 4e-9 up to
/// a = 14, where float's range ends: a fit by Chebyshev nodes in t, of the kind of Abramowitz &
/// Stegun 7.1.26. So the negative tail has full relative precision, which 1 + erf does not.
template <class Vector>
[[gnu::always_inline]] inline Normal<Vector> normal(const Vector& x) {
  const Vector magnitude = select_less(x, 0.0F, Vector::all(0) - x, x);
  const Vector bell = exp_of_negative(x * x * -0.5F);
  const Vector t = Vector::all(1) / (magnitude * 0.24F + 1.0F);
  Vector p = t * 0.0255986033F - 0.125075675F;
  p = p * t + 0.206621381F;
  p = p * t - 0.145947579F;
  p = p * t + 0.142979628F;
  p = p * t + 0.0272605340F;
  p = p * t + 0.0880975183F;
  p = p * t + 0.0888567530F;
  p = p * t + 0.0958673219F;
  p = p * t + 0.0957415173F;
  const Vector tail = bell * (p * t);
  return {.cumulative = select_less(x, 0.0F, tail, Vector::all(1) - tail),
          .density = bell * 0.398942280F};
}

}  // namespace ptbench::simd
