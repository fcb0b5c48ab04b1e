#pragma once

#include <limits>

#include "tests/cuda_emulator/ptx/floating.h"

// cvt between numbers, and mov between registers and their parts.

namespace ptbench::emulator {

/// Between integers: extended by the source's sign, or cut off. To wider floating-point numbers:
/// exact.
template <class To, class From>
To cvt(From value) {
  if constexpr (std::is_integral_v<To>) {
    static_assert(std::is_integral_v<From>);
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<To, From>) {
    return value;
  } else {
    static_assert(!std::is_integral_v<From> && sizeof(To) > sizeof(From));
    return static_cast<To>(wide(value));
  }
}

/// Between integers, to the nearest number that `To` has.
template <Integer To, Integer From>
To cvt_sat(From value) {
  if (static_cast<__int128>(value) < static_cast<__int128>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (static_cast<__int128>(value) > static_cast<__int128>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

/// An integer in double, whose last digit is odd where it is not exact: see add_to_odd.
template <Integer From>
double integer_to_odd(From value) {
  const auto nearest = static_cast<double>(value);
  const __int128 lack = static_cast<__int128>(value) - static_cast<__int128>(nearest);
  const U64 bits = std::bit_cast<U64>(nearest);
  if (lack == 0 || (bits & 1U) != 0) return nearest;
  const bool grows = (lack > 0) == (nearest > 0);
  return std::bit_cast<double>(grows ? bits + 1 : bits - 1);
}

/// To a floating-point format, rounded once.
template <class To, Rounding Mode, class From>
To cvt_rounded(From value) {
  if constexpr (!std::is_integral_v<From>) {
    static_assert(sizeof(To) < sizeof(double) || std::is_same_v<From, double>);
    return round_to<To, Mode>(wide(value));
  } else if constexpr (std::is_same_v<To, double> && sizeof(From) == 8) {
    static_assert(Mode == Rounding::nearest);
    return static_cast<double>(value);
  } else {
    return round_to<To, Mode>(integer_to_odd(value));
  }
}

/// Two floats in a pair; the first is its upper half.
template <class To, Rounding Mode>
To cvt_pair(float high, float low) {
  using Element = ElementOf<To>;
  return To{round_to<Element, Mode>(low).bits, round_to<Element, Mode>(high).bits};
}

template <Rounding Mode, Single T>
T to_integral(T value) {
  switch (Mode) {
    case Rounding::nearest: return std::nearbyint(value);
    case Rounding::zero: return std::trunc(value);
    case Rounding::down: return std::floor(value);
    case Rounding::up: return std::ceil(value);
    case Rounding::away: return std::round(value);
  }
}

/// .rni, .rzi, .rmi, .rpi: to the nearest integer in that direction that `To` has. NaN is 0, or
/// the highest bit alone where either side has 64 bits. Floating-point numbers stay such.
template <class To, Rounding Mode, class From>
To cvt_to_integer(From source) {
  const auto value = to_integral<Mode>(wide(source));
  if constexpr (!std::is_integral_v<To>) {
    return round_to<To>(value);
  } else {
    using Number = decltype(value);
    if (std::isnan(value)) {
      constexpr bool kLong = sizeof(To) == 8 || sizeof(From) == 8;
      return kLong ? static_cast<To>(U64{1} << (sizeof(To) * 8 - 1)) : To{0};
    }
    // 2^digits, which the format has where the largest integer is rounded up to it.
    const Number above = std::ldexp(Number{1}, std::numeric_limits<To>::digits);
    if (value >= above) return std::numeric_limits<To>::max();
    if (value <= static_cast<Number>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  }
}

/// mov of a vector into one register: the first part lies lowest.
template <class To, class... Parts>
To pack(Parts... parts) {
  constexpr U32 kBits = sizeof(To) * 8 / sizeof...(Parts);
  constexpr To kMask = (To{1} << kBits) - 1;
  To all = 0;
  U32 at = 0;
  ((all |= (static_cast<To>(parts) & kMask) << at, at += kBits), ...);
  return all;
}
/// Takes the parts that `_` stands for.
struct Ignored {};
template <class To, class From>
void take_part(To& to, From part) {
  if constexpr (!std::is_same_v<To, Ignored>) to = static_cast<To>(part);
}
template <class From, class... Parts>
void unpack(From value, Parts&... parts) {
  constexpr U32 kBits = sizeof(From) * 8 / sizeof...(Parts);
  constexpr From kMask = (From{1} << kBits) - 1;
  U32 at = 0;
  ((take_part(parts, value >> at & kMask), at += kBits), ...);
}

}  // namespace ptbench::emulator
