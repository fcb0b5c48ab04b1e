#pragma once

#include <concepts>

#include "tests/cuda_emulator/ptx/integer.h"
#include "tests/cuda_emulator/ptx/rounding.h"

// Floating-point arithmetic in f32, f64, f16, bf16 and pairs of the latter two. Functions that the
// device approximates (.approx, .full) are as exact here as the host's. A NaN's bits are the host's
// in f32 and f64.

namespace ptbench::emulator {

template <class T>
concept Single = std::is_floating_point_v<T>;
template <class T>
concept Half = kIsHalf<T>;
template <class T>
concept Pair = kIsPair<T>;

template <Rounding Mode = Rounding::nearest, Single T>
T ptx_add(T a, T b) {
  if constexpr (Mode == Rounding::nearest) return a + b;
  static_assert(Mode == Rounding::nearest || std::is_same_v<T, float>);
  return directed_sum<Mode>(a, b);
}
template <Rounding Mode = Rounding::nearest, Single T>
T ptx_sub(T a, T b) {
  return ptx_add<Mode>(a, -b);
}
template <Rounding Mode = Rounding::nearest, Single T>
T ptx_mul(T a, T b) {
  if constexpr (Mode == Rounding::nearest) return a * b;
  static_assert(Mode == Rounding::nearest || std::is_same_v<T, float>);
  return narrow_to_float<Mode>(double{a} * double{b});
}
template <Rounding Mode = Rounding::nearest, Single T>
T ptx_fma(T a, T b, T c) {
  if constexpr (Mode == Rounding::nearest) return std::fma(a, b, c);
  static_assert(Mode == Rounding::nearest || std::is_same_v<T, float>);
  return directed_sum<Mode>(double{a} * double{b}, c);
}

template <Half T>
T ptx_add(T a, T b) {
  return round_to<T>(add_to_odd(wide(a), wide(b)));
}
template <Half T>
T ptx_sub(T a, T b) {
  return round_to<T>(add_to_odd(wide(a), -wide(b)));
}
template <Half T>
T ptx_mul(T a, T b) {
  return round_to<T>(double{wide(a)} * double{wide(b)});
}
template <Half T>
T ptx_fma(T a, T b, T c) {
  return round_to<T>(add_to_odd(double{wide(a)} * double{wide(b)}, wide(c)));
}

template <class T>
bool is_nan(T value) {
  return std::isnan(wide(value));
}
template <Single T>
T ptx_neg(T a) {
  return -a;
}
template <Single T>
T ptx_abs(T a) {
  return std::fabs(a);
}
template <Half T>
T ptx_neg(T a) {
  return T{static_cast<U16>(a.bits ^ 0x8000U)};
}
template <Half T>
T ptx_abs(T a) {
  return T{static_cast<U16>(a.bits & 0x7fffU)};
}

/// The smaller one; -0 is below +0. Of a number and NaN the number.
template <class T>
  requires Single<T> || Half<T>
T ptx_min(T a, T b) {
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  if (wide(a) == wide(b)) return std::signbit(wide(a)) ? a : b;
  return wide(b) < wide(a) ? b : a;
}
template <class T>
  requires Single<T> || Half<T>
T ptx_max(T a, T b) {
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  if (wide(a) == wide(b)) return std::signbit(wide(a)) ? b : a;
  return wide(a) < wide(b) ? b : a;
}
/// .NaN: NaN where either is.
template <class T>
  requires Single<T> || Half<T>
T ptx_min_nan(T a, T b) {
  return is_nan(a) ? a : is_nan(b) ? b : ptx_min(a, b);
}
template <class T>
  requires Single<T> || Half<T>
T ptx_max_nan(T a, T b) {
  return is_nan(a) ? a : is_nan(b) ? b : ptx_max(a, b);
}

template <Single T>
T ptx_div(T a, T b) {
  return a / b;
}
template <Single T>
T ptx_rcp(T a) {
  return T{1} / a;
}
template <Single T>
T ptx_sqrt(T a) {
  return std::sqrt(a);
}
/// In double, so that f32 is rounded once, or twice in rare cases.
template <Single T>
T ptx_rsqrt(T a) {
  return static_cast<T>(1.0 / std::sqrt(static_cast<double>(a)));
}
/// The sign of `a` with the magnitude of `b`.
template <Single T>
T ptx_copysign(T a, T b) {
  return std::copysign(b, a);
}
inline float ptx_ex2(float a) { return std::exp2(a); }
inline float ptx_lg2(float a) { return std::log2(a); }
inline float ptx_sin(float a) { return std::sin(a); }
inline float ptx_cos(float a) { return std::cos(a); }
inline float ptx_tanh(float a) { return std::tanh(a); }
template <Half T>
T ptx_ex2(T a) {
  return round_to<T>(std::exp2(double{wide(a)}));
}
template <Half T>
T ptx_tanh(T a) {
  return round_to<T>(std::tanh(double{wide(a)}));
}

// Of pairs, each half on its own.
#define PTX_OF_HALVES(FUNCTION)                                             \
  template <Pair T, std::same_as<T>... More>                                \
  T FUNCTION(T a, More... more) {                                           \
    return each_half([](auto... x) { return FUNCTION(x...); }, a, more...); \
  }
PTX_OF_HALVES(ptx_add)
PTX_OF_HALVES(ptx_sub)
PTX_OF_HALVES(ptx_mul)
PTX_OF_HALVES(ptx_fma)
PTX_OF_HALVES(ptx_neg)
PTX_OF_HALVES(ptx_abs)
PTX_OF_HALVES(ptx_min)
PTX_OF_HALVES(ptx_max)
PTX_OF_HALVES(ptx_min_nan)
PTX_OF_HALVES(ptx_max_nan)
PTX_OF_HALVES(ptx_ex2)
PTX_OF_HALVES(ptx_tanh)
#undef PTX_OF_HALVES

// testp
template <Single T>
bool testp_finite(T a) {
  return std::isfinite(a);
}
template <Single T>
bool testp_infinite(T a) {
  return std::isinf(a);
}
template <Single T>
bool testp_number(T a) {
  return !std::isnan(a);
}
template <Single T>
bool testp_notanumber(T a) {
  return std::isnan(a);
}
template <Single T>
bool testp_normal(T a) {
  return std::isnormal(a);
}
template <Single T>
bool testp_subnormal(T a) {
  return std::fpclassify(a) == FP_SUBNORMAL;
}

}  // namespace ptbench::emulator
