#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/cuda_emulator/cases/case.h"

// Numbers in fp32 and bf16 for products and convolutions.

namespace ptbench::emulator::cases {

/// Small whole numbers: any order of adding them up gives the same, and bf16 holds them.
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
inline std::vector<float> rounded(bool is_bf16, std::vector<float> values) {
  if (is_bf16)
    for (float& value : values) value = from_bf16(to_bf16(value));
  return values;
}

/// Values in device memory, in fp32 or bf16.
class Operand {
 public:
  Operand(bool is_bf16, const std::vector<float>& values)
      : is_bf16_(is_bf16), memory_(encoded(is_bf16, values)) {}

  [[nodiscard]] void* get() const { return memory_.get(); }
  [[nodiscard]] std::vector<float> read() const {
    const std::vector<unsigned char> bytes = memory_.read();
    std::vector<float> values(bytes.size() / (is_bf16_ ? 2 : 4));
    for (std::size_t index = 0; index < values.size(); ++index) {
      if (is_bf16_) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + index * sizeof bits, sizeof bits);
        values[index] = from_bf16(bits);
      } else {
        std::memcpy(&values[index], bytes.data() + index * sizeof(float), sizeof(float));
      }
    }
    return values;
  }

 private:
  static std::vector<unsigned char> encoded(bool is_bf16, const std::vector<float>& values) {
    std::vector<unsigned char> bytes;
    for (const float value : values) {
      const std::uint16_t half = to_bf16(value);
      const auto* at = is_bf16 ? reinterpret_cast<const unsigned char*>(&half)
                               : reinterpret_cast<const unsigned char*>(&value);
      bytes.insert(bytes.end(), at, at + (is_bf16 ? sizeof half : sizeof value));
    }
    return bytes;
  }

  bool is_bf16_;
  DeviceArray<unsigned char> memory_;
};

}  // namespace ptbench::emulator::cases
