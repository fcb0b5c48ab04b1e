#pragma once

#include <cuda_fp16.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/cuda_emulator/cases/case.h"

// Numbers in fp32, bf16 and fp16 for products and convolutions.

namespace ptbench::emulator::cases {

/// Small whole numbers: any order of adding them up gives the same, and narrow kinds hold them.
inline std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<int>(seed >> 28U) - 8);
  }
  return values;
}

/// The upper half of a float, rounded to nearest, ties to even.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U);
}
inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// What numbers are kept as.
enum class Kind { f32, bf16, f16 };

/// The bits of `value` in a narrow kind, rounded to nearest, ties to even.
inline std::uint16_t narrow_bits(Kind kind, float value) {
  return kind == Kind::f16 ? __half_as_ushort(__float2half_rn(value)) : to_bf16(value);
}
inline float from_narrow(Kind kind, std::uint16_t bits) {
  return kind == Kind::f16 ? __half2float(__ushort_as_half(bits)) : from_bf16(bits);
}
inline std::vector<float> rounded(Kind kind, std::vector<float> values) {
  if (kind != Kind::f32)
    for (float& value : values) value = from_narrow(kind, narrow_bits(kind, value));
  return values;
}

/// Values in device memory.
class Operand {
 public:
  Operand(Kind kind, const std::vector<float>& values)
      : kind_(kind), memory_(encoded(kind, values)) {}

  [[nodiscard]] void* get() const { return memory_.get(); }
  [[nodiscard]] std::vector<float> read() const {
    const std::vector<unsigned char> bytes = memory_.read();
    std::vector<float> values(bytes.size() / (kind_ == Kind::f32 ? 4 : 2));
    for (std::size_t index = 0; index < values.size(); ++index) {
      if (kind_ == Kind::f32) {
        std::memcpy(&values[index], bytes.data() + index * sizeof(float), sizeof(float));
      } else {
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + index * sizeof bits, sizeof bits);
        values[index] = from_narrow(kind_, bits);
      }
    }
    return values;
  }

 private:
  static std::vector<unsigned char> encoded(Kind kind, const std::vector<float>& values) {
    std::vector<unsigned char> bytes;
    for (const float value : values) {
      const std::uint16_t half = narrow_bits(kind, value);
      const auto* at = kind == Kind::f32 ? reinterpret_cast<const unsigned char*>(&value)
                                         : reinterpret_cast<const unsigned char*>(&half);
      bytes.insert(bytes.end(), at, at + (kind == Kind::f32 ? sizeof value : sizeof half));
    }
    return bytes;
  }

  Kind kind_;
  DeviceArray<unsigned char> memory_;
};

}  // namespace ptbench::emulator::cases
