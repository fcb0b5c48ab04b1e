#pragma once

#include <cmath>
#include <limits>

#include "tests/cuda_emulator/ptx/types.h"

// How values are rounded to the formats of the device.

namespace ptbench::emulator {

enum class Rounding : U8 {
  nearest,  ///< .rn: to nearest, ties to even
  zero,     ///< .rz
  down,     ///< .rm: towards minus infinity
  up,       ///< .rp
  away,     ///< .rna: to nearest, ties away from zero
};

inline float wide(float value) { return value; }
inline double wide(double value) { return value; }
inline float wide(Bf16 value) { return std::bit_cast<float>(static_cast<U32>(value.bits) << 16U); }
inline float wide(F16 value) { return static_cast<float>(std::bit_cast<_Float16>(value.bits)); }

/// Whether a magnitude whose last kept digit is `odd` and whose dropped digits are `rest`, of
/// `half` at a tie, becomes one larger.
template <Rounding Mode>
constexpr bool rounds_up(bool negative, bool odd, U64 rest, U64 half) {
  switch (Mode) {
    case Rounding::nearest: return rest > half || (rest == half && odd);
    case Rounding::zero: return false;
    case Rounding::down: return negative && rest != 0;
    case Rounding::up: return !negative && rest != 0;
    case Rounding::away: return rest >= half;
  }
}

/// `value` in a format with `ExponentBits` and `FractionBits`, as its bits. NaN becomes the
/// device's one NaN, all bits but the sign; what is too large becomes infinity or, where the mode
/// points to zero, the largest number.
template <int ExponentBits, int FractionBits, Rounding Mode>
U16 narrow(double value) {
  constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  constexpr U64 kInfinity = ((U64{1} << ExponentBits) - 1) << FractionBits;
  if (std::isnan(value)) return 0x7fff;
  const bool negative = std::signbit(value);
  const U64 sign = negative ? U64{1} << (ExponentBits + FractionBits) : 0;
  if (std::isinf(value)) return static_cast<U16>(sign | kInfinity);
  const U64 bits = std::bit_cast<U64>(value) & ~(U64{1} << 63U);
  const int exponent = static_cast<int>(bits >> 52U) - 1023;
  if (bits >> 52U == 0)  // a denormal double is below every number of these formats
    return static_cast<U16>(sign | (rounds_up<Mode>(negative, false, bits, U64{1} << 62U) ? 1 : 0));
  const U64 digits = (bits & ((U64{1} << 52U) - 1)) | (U64{1} << 52U);
  const int lacking = exponent < 1 - kBias ? 1 - kBias - exponent : 0;  // denormal in the format
  const int dropped = 52 - FractionBits + lacking;
  U64 kept = 0;
  U64 rest = digits;
  U64 half = U64{1} << 62U;
  if (dropped <= 62) {
    kept = digits >> dropped;
    rest = digits & ((U64{1} << dropped) - 1);
    half = U64{1} << (dropped - 1);
  }
  if (rounds_up<Mode>(negative, (kept & 1U) != 0, rest, half)) ++kept;
  // The leading digit of a normal number adds one to the exponent field; a carry does too.
  U64 result = kept;
  if (lacking == 0) {
    const int field = exponent + kBias - 1;
    result = kept + (static_cast<U64>(field) << FractionBits);
    if (field >= (1 << ExponentBits) - 1) result = kInfinity;
  }
  if (result >= kInfinity) {
    const bool to_zero = Mode == Rounding::zero || (Mode == Rounding::down && !negative) ||
                         (Mode == Rounding::up && negative);
    result = to_zero ? kInfinity - 1 : kInfinity;
  }
  return static_cast<U16>(sign | result);
}

/// A double's value in float.
template <Rounding Mode>
float narrow_to_float(double value) {
  static_assert(Mode != Rounding::away);
  const auto nearest = static_cast<float>(value);
  if constexpr (Mode == Rounding::nearest) return nearest;
  if (std::isnan(value) || std::isinf(value)) return nearest;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto reached = static_cast<double>(nearest);
  if (Mode == Rounding::zero && std::fabs(reached) > std::fabs(value))
    return std::nextafter(nearest, 0.0F);
  if (Mode == Rounding::down && reached > value) return std::nextafter(nearest, -kInfinity);
  if (Mode == Rounding::up && reached < value) return std::nextafter(nearest, kInfinity);
  return nearest;
}

/// A double's value in T, rounded once.
template <class T, Rounding Mode = Rounding::nearest>
T round_to(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else if constexpr (std::is_same_v<T, float>)
    return narrow_to_float<Mode>(value);
  else if constexpr (std::is_same_v<T, F16>)
    return F16{narrow<5, 10, Mode>(value)};
  else
    return Bf16{narrow<8, 7, Mode>(value)};
}

/// a + b in double, whose last digit is odd where the sum is not exact: a later rounding to fewer
/// digits is then that of the exact sum (Boldo and Melquiond, "Emulation of a FMA and correctly
/// rounded sums: proved algorithms using rounding to odd", 2008).
inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  // Knuth's two-sum: what the sum lacks.
  const double part_b = sum - a;
  const double lack = (a - (sum - part_b)) + (b - part_b);
  const U64 bits = std::bit_cast<U64>(sum);
  if (lack == 0 || (bits & 1U) != 0) return sum;
  const bool grows = (lack > 0) == (sum > 0);
  return std::bit_cast<double>(grows ? bits + 1 : bits - 1);
}

/// A sum of doubles in float. Opposites give -0 where the rounding is downwards (IEEE 754, 6.3).
template <Rounding Mode>
float directed_sum(double a, double b) {
  const double sum = add_to_odd(a, b);
  if (Mode == Rounding::down && sum == 0 && std::signbit(a) != std::signbit(b)) return -0.0F;
  return narrow_to_float<Mode>(sum);
}

/// Ten explicit fraction digits of a float, ties away from zero: cvt.rna.tf32.f32, and what tensor
/// cores are fed with.
inline float round_to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  return std::bit_cast<float>((std::bit_cast<U32>(value) + 0x1000U) & 0xffffe000U);
}

/// .ftz: denormal numbers are zero of their sign.
inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

/// .sat: between 0 and 1; NaN is 0.
template <class T>
T saturated(T value) {
  if constexpr (kIsPair<T>) {
    return each_half([](auto half) { return saturated(half); }, value);
  } else if constexpr (kIsHalf<T>) {
    const float number = wide(value);
    return number > 0 ? (number < 1 ? value : round_to<T>(1)) : T{0};
  } else {
    return value > 0 ? (value < 1 ? value : T{1}) : T{0};
  }
}

/// .relu: negative numbers are zero, NaN is the device's one NaN.
template <class T>
T rectified(T value) {
  if constexpr (kIsPair<T>) {
    return each_half([](auto half) { return rectified(half); }, value);
  } else {
    const float number = wide(value);
    if (std::isnan(number)) return T{0x7fff};
    return number > 0 ? value : T{0};
  }
}

}  // namespace ptbench::emulator
