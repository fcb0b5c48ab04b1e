#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/cpu/vector.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

// Loops of linear_grid over rows of values. To be used inside simd::run.
namespace ptbench::linear_grid {

/// Where a ReLU gave this, no gradient passes; NaN lets it pass, as in PyTorch.
[[nodiscard]] inline bool closed(float output) { return output <= 0; }
/// By the bits, which vectorises: zero, or negative but not NaN.
[[nodiscard]] inline bool closed(Bf16 output) {
  constexpr std::uint16_t kMinusZero = 0x8000;
  constexpr std::uint16_t kInfinity = 0x7f80;
  return output.bits == 0 || static_cast<std::uint16_t>(output.bits - kMinusZero) <= kInfinity;
}

/// to = from where the output's ReLU was open, else 0.
template <class T>
void mask(const T* __restrict from, const T* __restrict output, T* __restrict to, Size count) {
  for (Size i = 0; i < count; ++i) to[i] = closed(output[i]) ? T{} : from[i];
}

/// to = sources[0] + sources[1] + …, in f32 and always in this order; or to += that.
template <class Vector, bool Add = false, class T>
[[gnu::always_inline]] inline void sum(T* to, Size count, const std::vector<const float*>& sources,
                                       Size offset) {
  constexpr Size kLanes = 16;
  Size i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    auto total = simd::load<Vector>(sources[0] + offset + i);
    for (std::size_t s = 1; s < sources.size(); ++s)
      total += simd::load<Vector>(sources[s] + offset + i);
    if constexpr (Add) total += simd::load<Vector>(to + i);
    simd::store(to + i, total);
  }
  for (; i < count; ++i) {
    float total = sources[0][offset + i];
    for (std::size_t s = 1; s < sources.size(); ++s) total += sources[s][offset + i];
    if constexpr (std::is_same_v<T, float>)
      to[i] = Add ? to[i] + total : total;
    else
      to[i] = to_bf16(total);
  }
}

}  // namespace ptbench::linear_grid
