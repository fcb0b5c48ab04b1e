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

/// Of tensors as OutputGradient has them; NaN in y opens the rectifier.
template <Mask kMask, bool kTwoTerms, int kLanes, class T>
__device__ GradientPack<kLanes> load_gradient(const T* __restrict__ input,
                                              const T* __restrict__ first,
                                              const T* __restrict__ second,
                                              const T* __restrict__ output, Size pack,
                                              const Affine<kLanes>& affine) {
  const Lanes<T, kLanes> x = load<kLanes>(input, pack);
  const Lanes<T, kLanes> one = load<kLanes>(first, pack);
  [[maybe_unused]] Lanes<T, kLanes> other;
  [[maybe_unused]] Lanes<T, kLanes> y;
  if constexpr (kTwoTerms) other = load<kLanes>(second, pack);
  if constexpr (kMask == Mask::output) y = load<kLanes>(output, pack);
  GradientPack<kLanes> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    const float centered = widened(x.at[lane]) - affine.mean[lane];
    float gradient = widened(one.at[lane]);
    if constexpr (kTwoTerms) gradient += widened(other.at[lane]);
    if constexpr (kMask == Mask::input)
      y.at[lane] = narrowed<T>(normalized(centered, affine, lane));
    if constexpr (kMask != Mask::none)
      if (widened(y.at[lane]) <= 0) gradient = 0;
    result.centered[lane] = centered;
    result.gradient[lane] = gradient;
  }
  return result;
}

/// Calls launch(mask, two terms) with what there is of a gradient as types.
template <class T, class Launch>
void with_terms(const OutputGradient<T>& gradient, const Launch& launch) {
  with_flag(gradient.second != nullptr, [&](auto two) {
    switch (gradient.mask) {
      case Mask::none: return launch(std::integral_constant<Mask, Mask::none>(), two);
      case Mask::input: return launch(std::integral_constant<Mask, Mask::input>(), two);
      case Mask::output: return launch(std::integral_constant<Mask, Mask::output>(), two);
    }
  });
}

}  // namespace ptbench::cuda
