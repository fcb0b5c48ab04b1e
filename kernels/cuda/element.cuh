#pragma once

#include <cuda_bf16.h>

#include "kernels/tensor.h"

// Elements of activations in kernels: float, or Bf16. All arithmetic is in f32, so that devices
// without arithmetic on bf16 (sm_75) compute the same.
namespace ptbench::cuda {

__device__ inline float widened(float value) { return value; }
__device__ inline float widened(Bf16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16U);
}

/// `value` as an element of type T: to the nearest, ties to even; NaN stays NaN.
template <class T>
__device__ T narrowed(float value);
template <>
__device__ inline float narrowed<float>(float value) {
  return value;
}
template <>
__device__ inline Bf16 narrowed<Bf16>(float value) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
}

}  // namespace ptbench::cuda
