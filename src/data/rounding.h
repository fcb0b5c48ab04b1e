#pragma once

#include <span>

#include "src/base/narrow_floats.h"
#include "src/device/isa.h"

namespace ptbench {

/// As a GPU rounds a float to a narrow type: to the nearest, ties to even, beyond the largest to
/// infinity. Every NaN becomes the same one, positive and with all bits of the fraction set, which
/// is what distinguishes this from to_bf16 and to_f16.
template <class T>
[[nodiscard]] constexpr T rounded_as_on_gpus(float value);
template <>
[[nodiscard]] constexpr Bf16 rounded_as_on_gpus<Bf16>(float value) {
  constexpr std::uint16_t kNan = 0x7fffU;
  return value != value ? Bf16{kNan} : to_bf16(value);
}
template <>
[[nodiscard]] constexpr F16 rounded_as_on_gpus<F16>(float value) {
  constexpr std::uint16_t kNan = 0x7fffU;
  return value != value ? F16{kNan} : to_f16(value);
}

/// Stores each of `values`, so rounded, in `to`, which has as many elements. In vectors of `isa`,
/// which this CPU has; the results do not depend on it.
void round_values(Isa isa, std::span<const float> values, std::span<Bf16> to);
void round_values(Isa isa, std::span<const float> values, std::span<F16> to);

}  // namespace ptbench
