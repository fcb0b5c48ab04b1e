#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/tensor.h"

namespace ptbench {
namespace {

/// The value of a finite F16, by its definition.
double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1f;
  const double fraction = (bits & 0x3ffU) / 1024.0;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  return (bits & 0x8000U) == 0 ? magnitude : -magnitude;
}

}  // namespace

TEST_CASE("every finite f16 has its value as a float, and comes back", "[kernels]") {
  std::uint32_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const F16 half{static_cast<std::uint16_t>(bits)};
    if ((bits & 0x7fffU) >= 0x7c00U) continue;
    const float value = to_float(half);
    const bool same_sign = std::signbit(value) == ((bits & 0x8000U) != 0);
    if (double{value} != value_of(half.bits) || !same_sign || to_f16(value) != half) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats between two f16 become the nearest, halfway the even one", "[kernels]") {
  std::uint32_t wrong = 0;
  for (std::uint16_t lower = 0; lower < 0x7bffU; ++lower) {
    const auto upper = static_cast<std::uint16_t>(lower + 1);
    const auto middle = static_cast<float>((value_of(lower) + value_of(upper)) / 2);
    const std::uint16_t even = (lower & 1U) == 0 ? lower : upper;
    if (to_f16(middle).bits != even) ++wrong;
    if (to_f16(std::nextafter(middle, 0.0F)).bits != lower) ++wrong;
    if (to_f16(std::nextafter(middle, 1e9F)).bits != upper) ++wrong;
    if (to_f16(-middle).bits != (even | 0x8000U)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("what f16 cannot hold becomes infinity, and NaN stays NaN", "[kernels]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(to_f16(65519.99F).bits == 0x7bffU);
  CHECK(to_f16(65520).bits == 0x7c00U);
  CHECK(to_f16(-1e30F).bits == 0xfc00U);
  CHECK(to_f16(kInfinity).bits == 0x7c00U);
  CHECK(to_float(F16{0xfc00U}) == -kInfinity);
  CHECK(std::isnan(to_float(to_f16(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(to_float(to_f16(std::bit_cast<float>(0x7f800001U)))));
}

}  // namespace ptbench
