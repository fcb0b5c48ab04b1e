#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "src/base/element_type.h"

namespace ptbench {

/// The upper half of a float: 8 bits of exponent, 7 of fraction.
struct Bf16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(Bf16, Bf16) = default;
};
[[nodiscard]] constexpr float to_float(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}
/// Rounds to nearest, ties to even; NaN stays NaN.
[[nodiscard]] constexpr Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
}

/// IEEE 754's binary16: 5 bits of exponent, 10 of fraction.
struct F16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(F16, F16) = default;
};
[[nodiscard]] constexpr float to_float(F16 value) {
  constexpr std::uint32_t kInfinity = 0x7c00U;
  constexpr std::uint32_t kLeastNormal = 0x0400U;
  const std::uint32_t sign = (value.bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  if (magnitude >= kInfinity)
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13U);
  if (magnitude >= kLeastNormal)  // the exponents' biases are 112 apart
    return std::bit_cast<float>(sign | ((magnitude << 13U) + (112U << 23U)));
  constexpr float kLeast = 1.0F / (1U << 24U);
  const float denormal = static_cast<float>(magnitude) * kLeast;
  return sign == 0 ? denormal : -denormal;
}
/// Rounds to nearest, ties to even; from 65520 on to infinity; NaN stays NaN.
[[nodiscard]] constexpr F16 to_f16(float value) {
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  constexpr std::uint32_t kBeyond = 0x47800000U;       // 2^16
  constexpr std::uint32_t kLeastNormal = 0x38800000U;  // 2^-14
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const auto signed_bits = [&](std::uint32_t rounded) {
    return F16{static_cast<std::uint16_t>(sign | rounded)};
  };
  if (magnitude > kInfinity) return signed_bits(0x7e00U | (magnitude >> 13U & 0x3ffU));
  if (magnitude >= kBeyond) return signed_bits(0x7c00U);
  if (magnitude >= kLeastNormal)
    return signed_bits((magnitude - (112U << 23U) + 0xfffU + (magnitude >> 13U & 1U)) >> 13U);
  // Neighbours of 0.5 are as far from each other as F16's denormal numbers are.
  constexpr float kHalf = 0.5F;
  return signed_bits(std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + kHalf) -
                     std::bit_cast<std::uint32_t>(kHalf));
}

/// A float as an element of type T: float itself, Bf16 or F16.
template <class T>
[[nodiscard]] constexpr T from_float(float value) {
  if constexpr (std::is_same_v<T, Bf16>)
    return to_bf16(value);
  else if constexpr (std::is_same_v<T, F16>)
    return to_f16(value);
  else
    return value;
}
[[nodiscard]] constexpr float to_float(float value) { return value; }

/// use(T()), T being the C++ type in which values of `type` are kept.
template <class Use>
decltype(auto) with_element(ElementType type, const Use& use) {
  switch (type) {
    case ElementType::bf16: return use(Bf16());
    case ElementType::f16: return use(F16());
    case ElementType::f32:
    case ElementType::tf32: break;
  }
  return use(float());
}

}  // namespace ptbench
