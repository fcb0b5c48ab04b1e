#pragma once

#include "kernels/cuda/batch_norm_affine.cuh"
#include "kernels/cuda/batch_norm_tiles.cuh"
#include "kernels/cuda/element.cuh"

namespace ptbench::cuda {

/// One pack of x - mean, and of the gradient before addition and rectifier.
template <int kLanes>
struct GradientPack {
  float centered[kLanes];
  float gradient[kLanes];
};

/// Of tensors as OutputGradient has them.
template <Mask kMask, bool kTwoTerms, int kLanes, class T>
__device__ GradientPack<kLanes> load_gradient(const T* __restrict__ input,
                                              const T* __restrict__ first,
                                              const T* __restrict__ second,
                                              const std::uint8_t* __restrict__ open, Size pack,
                                              const Affine<kLanes>& affine) {
  const Lanes<T, kLanes> x = load<kLanes>(input, pack);
  const Lanes<T, kLanes> one = load<kLanes>(first, pack);
  [[maybe_unused]] Lanes<T, kLanes> other;
  [[maybe_unused]] unsigned bits = 0;
  if constexpr (kTwoTerms) other = load<kLanes>(second, pack);
  if constexpr (kMask == Mask::bits) bits = open[pack];
  GradientPack<kLanes> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    const float centered = widened(x.at[lane]) - affine.mean[lane];
    float gradient = widened(one.at[lane]);
    if constexpr (kTwoTerms) gradient += widened(other.at[lane]);
    if constexpr (kMask == Mask::input)
      if (!is_open(narrowed<T>(normalized(centered, affine, lane)))) gradient = 0;
    if constexpr (kMask == Mask::bits)
      if ((bits >> lane & 1U) == 0) gradient = 0;
    result.centered[lane] = centered;
    result.gradient[lane] = gradient;
  }
  return result;
}

/// Calls launch(mask, two terms) with what there is of a gradient as types.
template <class T, class Launch>
void with_terms(const OutputGradient<T>& gradient, const Launch& launch) {
  if (gradient.mask == Mask::input)
    return launch(std::integral_constant<Mask, Mask::input>(), std::false_type());
  with_flag(gradient.second != nullptr, [&](auto two) {
    if (gradient.mask == Mask::bits)
      launch(std::integral_constant<Mask, Mask::bits>(), two);
    else
      launch(std::integral_constant<Mask, Mask::none>(), two);
  });
}

}  // namespace ptbench::cuda
