#pragma once

#include <cstddef>

#include "tests/cuda_emulator/ptx/rounding.h"

// Elements of matrices and tensors in device memory, read as f32 and written with one rounding.

namespace ptbench::emulator {

enum class Element : U8 { f32, bf16, f16 };

constexpr std::size_t bytes_of(Element element) { return element == Element::f32 ? 4 : 2; }

/// Element `index` of those at `data`.
inline float load(Element element, const void* data, std::size_t index) {
  if (element == Element::f32) return static_cast<const float*>(data)[index];
  if (element == Element::f16) return wide(static_cast<const F16*>(data)[index]);
  return wide(static_cast<const Bf16*>(data)[index]);
}

/// What is read after `value` was stored.
inline float rounded(Element element, float value) {
  if (element == Element::f32) return value;
  return element == Element::f16 ? wide(round_to<F16>(value)) : wide(round_to<Bf16>(value));
}

/// Rounds to nearest, ties to even.
inline void store(Element element, void* data, std::size_t index, float value) {
  if (element == Element::f32)
    static_cast<float*>(data)[index] = value;
  else if (element == Element::f16)
    static_cast<F16*>(data)[index] = round_to<F16>(value);
  else
    static_cast<Bf16*>(data)[index] = round_to<Bf16>(value);
}

}  // namespace ptbench::emulator
