#pragma once

#include "kernels/cuda/batch_norm_kernels.h"
#include "kernels/cuda/element.cuh"

namespace ptbench::cuda {

/// What a thread's channels are normalised with.
template <int kLanes>
struct Affine {
  float mean[kLanes];
  float scale[kLanes];  ///< γ/√(variance + ε)
  float shift[kLanes];  ///< β
};

/// Of the channels from `channel` on.
template <int kLanes>
__device__ Affine<kLanes> affine_of(const BatchNormStatistics& statistics,
                                    const BatchNormParameters& parameters, Size channel) {
  Affine<kLanes> affine;
  for (int lane = 0; lane < kLanes; ++lane) {
    affine.mean[lane] = statistics.mean[channel + lane];
    affine.scale[lane] =
        parameters.weight[channel + lane] * statistics.inverse_deviation[channel + lane];
    affine.shift[lane] = parameters.bias[channel + lane];
  }
  return affine;
}

/// Before addition and rectifier. Backward repeats it to know where the rectifier was open, so it
/// is this one operation, rounded once.
template <int kLanes>
__device__ float normalized(float centered, const Affine<kLanes>& affine, int lane) {
  return __fmaf_rn(centered, affine.scale[lane], affine.shift[lane]);
}

/// Whether the rectifier whose output is y lets gradients through; NaN opens it.
template <class T>
__device__ bool is_open(T y) {
  return !(widened(y) <= 0);
}

}  // namespace ptbench::cuda
