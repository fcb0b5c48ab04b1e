#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/tensor.h"

// Elements of activations in kernels: float, Bf16 or F16. All arithmetic is in f32, so that devices
// without arithmetic on bf16 (sm_75) compute the same.
namespace ptbench::cuda {

__device__ inline float widened(float value) { return value; }
__device__ inline float widened(Bf16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16U);
}

__device__ inline float widened(F16 value) { return __half2float(__ushort_as_half(value.bits)); }

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
template <>
__device__ inline F16 narrowed<F16>(float value) {
  return {__half_as_ushort(__float2half_rn(value))};
}

}  // namespace ptbench::cuda
