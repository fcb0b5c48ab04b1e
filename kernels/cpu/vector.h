#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/tensor.h"

// Sixteen floats in compiler vectors, for loops where plain ones are not vectorised well. To be
// used inside simd::run, whose target decides how many registers they take.
namespace ptbench::simd {

/// Sixteen floats in Registers registers. Compilers take vectors that are wider than the target's
/// registers apart element by element, so a loop is told the number by simd::run.
template <int Registers>
struct Floats {
  static constexpr int kCount = Registers;
  static constexpr int kWidth = 16 / Registers;
  using Part [[gnu::vector_size(64 / Registers)]] = float;
  using Bits [[gnu::vector_size(64 / Registers)]] = std::uint32_t;
  using Integers [[gnu::vector_size(64 / Registers)]] = std::int32_t;
  using Half [[gnu::vector_size(32 / Registers)]] = std::uint16_t;

  Part part[static_cast<std::size_t>(Registers)];

  /// The same value in every lane.
  [[gnu::always_inline]] static Floats all(float value) {
    return make([value](int) __attribute__((always_inline)) { return Part{} + value; });
  }
  /// Each register is what `function` of its index gives.
  template <class Function>
  [[gnu::always_inline]] static Floats make(const Function& function) {
    Floats result{};
#pragma GCC unroll 4
    for (int i = 0; i < Registers; ++i) result.part[i] = function(i);
    return result;
  }

  [[gnu::always_inline]] friend Floats operator+(const Floats& a, const Floats& b) {
    return make([&](int i) __attribute__((always_inline)) { return a.part[i] + b.part[i]; });
  }
  [[gnu::always_inline]] friend Floats operator-(const Floats& a, const Floats& b) {
    return make([&](int i) __attribute__((always_inline)) { return a.part[i] - b.part[i]; });
  }
  [[gnu::always_inline]] friend Floats operator*(const Floats& a, const Floats& b) {
    return make([&](int i) __attribute__((always_inline)) { return a.part[i] * b.part[i]; });
  }
  [[gnu::always_inline]] friend Floats operator/(const Floats& a, const Floats& b) {
    return make([&](int i) __attribute__((always_inline)) { return a.part[i] / b.part[i]; });
  }
  [[gnu::always_inline]] friend Floats operator+(const Floats& a, float b) { return a + all(b); }
  [[gnu::always_inline]] friend Floats operator-(const Floats& a, float b) { return a - all(b); }
  [[gnu::always_inline]] friend Floats operator*(const Floats& a, float b) { return a * all(b); }
  [[gnu::always_inline]] Floats& operator+=(const Floats& other) { return *this = *this + other; }
};

/// One register, or as many as the compiler makes of it: right for x86-64-v4 only.
using Float16 = Floats<1>;

/// a < b ? x : y in each lane.
template <int Registers>
[[gnu::always_inline]] inline Floats<Registers> select_less(const Floats<Registers>& a, float b,
                                                            const Floats<Registers>& x,
                                                            const Floats<Registers>& y) {
  return Floats<Registers>::make(
      [&](int i) __attribute__((always_inline)) { return a.part[i] < b ? x.part[i] : y.part[i]; });
}

/// max(0, x); NaN stays NaN.
template <int Registers>
[[gnu::always_inline]] inline Floats<Registers> rectify(const Floats<Registers>& x) {
  return select_less(x, 0.0F, Floats<Registers>::all(0), x);
}

/// The gradient before a rectifier that gave (or would give) y; NaN opens it, as in PyTorch.
template <int Registers>
[[gnu::always_inline]] inline Floats<Registers> rectify_gradient(
    const Floats<Registers>& y, const Floats<Registers>& gradient) {
  return Floats<Registers>::make([&](int i) __attribute__((always_inline)) {
    return y.part[i] <= 0.0F ? typename Floats<Registers>::Part{} : gradient.part[i];
  });
}

template <class Vector = Float16>
[[gnu::always_inline]] inline Vector load(const float* from) {
  return Vector::make([&](int i) __attribute__((always_inline)) {
    typename Vector::Part part;
    std::memcpy(&part, from + i * Vector::kWidth, sizeof(part));
    return part;
  });
}

template <class Vector = Float16>
[[gnu::always_inline]] inline Vector load(const Bf16* from) {
  return Vector::make([&](int i) __attribute__((always_inline)) {
    typename Vector::Half half;
    std::memcpy(&half, from + i * Vector::kWidth, sizeof(half));
    const auto wide = __builtin_convertvector(half, typename Vector::Bits) << 16U;
    return reinterpret_cast<typename Vector::Part>(wide);
  });
}

template <int Registers>
[[gnu::always_inline]] inline void store(float* to, const Floats<Registers>& value) {
#pragma GCC unroll 4
  for (int i = 0; i < Registers; ++i)
    std::memcpy(to + i * Floats<Registers>::kWidth, &value.part[i], sizeof(value.part[i]));
}

/// Rounds to nearest, ties to even; NaN stays NaN.
template <int Registers>
[[gnu::always_inline]] inline void store(Bf16* to, const Floats<Registers>& value) {
  using Vector = Floats<Registers>;
#pragma GCC unroll 4
  for (int i = 0; i < Registers; ++i) {
    const auto part = value.part[i];
    const auto bits = reinterpret_cast<typename Vector::Bits>(part);
    const auto rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
    const auto quiet = (bits >> 16U) | 0x40U;
    const auto result = part == part ? rounded : quiet;  // NOLINT(misc-redundant-expression)
    const auto half = __builtin_convertvector(result, typename Vector::Half);
    std::memcpy(static_cast<void*>(to + i * Vector::kWidth), &half, sizeof(half));
  }
}

}  // namespace ptbench::simd
