#pragma once

#include <limits>

#include "tests/cuda_emulator/ptx/floating.h"

// setp and set. With NaN, ordered comparisons (lt, …) are false and unordered ones (ltu, …) true.

namespace ptbench::emulator {

template <class T>
auto comparable(T value) {
  if constexpr (std::is_integral_v<T>)
    return value;
  else
    return wide(value);
}
template <class T>
bool unordered([[maybe_unused]] T a, [[maybe_unused]] T b) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return is_nan(a) || is_nan(b);
}

struct CompareEq {
  template <class T>
  static bool test(T a, T b) {
    return !unordered(a, b) && comparable(a) == comparable(b);
  }
};
struct CompareNe {
  template <class T>
  static bool test(T a, T b) {
    return !unordered(a, b) && comparable(a) != comparable(b);
  }
};
struct CompareLt {
  template <class T>
  static bool test(T a, T b) {
    return comparable(a) < comparable(b);
  }
};
struct CompareLe {
  template <class T>
  static bool test(T a, T b) {
    return comparable(a) <= comparable(b);
  }
};
struct CompareGt {
  template <class T>
  static bool test(T a, T b) {
    return comparable(a) > comparable(b);
  }
};
struct CompareGe {
  template <class T>
  static bool test(T a, T b) {
    return comparable(a) >= comparable(b);
  }
};
struct CompareNum {
  template <class T>
  static bool test(T a, T b) {
    return !unordered(a, b);
  }
};
struct CompareNan {
  template <class T>
  static bool test(T a, T b) {
    return unordered(a, b);
  }
};
/// equ, ltu, …
template <class Ordered>
struct Unordered {
  template <class T>
  static bool test(T a, T b) {
    return unordered(a, b) || Ordered::test(a, b);
  }
};

/// What combines a comparison with a further predicate.
inline bool combine_and(bool a, bool b) { return a && b; }
inline bool combine_or(bool a, bool b) { return a || b; }
inline bool combine_xor(bool a, bool b) { return a != b; }

/// set: all ones for integers and 1 for floating-point numbers, or zero.
template <class To>
To truth_of(bool holds) {
  if constexpr (std::is_integral_v<To>)
    return holds ? static_cast<To>(~To{0}) : To{0};
  else
    return round_to<To>(holds ? 1 : 0);
}

/// setp on pairs: the predicates of the lower and the upper halves.
template <class Comparison, class T>
bool test_low(T a, T b) {
  using Element = ElementOf<T>;
  return Comparison::test(Element{a.low}, Element{b.low});
}
template <class Comparison, class T>
bool test_high(T a, T b) {
  using Element = ElementOf<T>;
  return Comparison::test(Element{a.high}, Element{b.high});
}
template <class To, class Comparison, class T>
To set_pair(T a, T b) {
  using Element = ElementOf<To>;
  return To{truth_of<Element>(test_low<Comparison>(a, b)).bits,
            truth_of<Element>(test_high<Comparison>(a, b)).bits};
}

}  // namespace ptbench::emulator
