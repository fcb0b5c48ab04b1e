// Gaussian error linear units (Hendrycks and Gimpel 2016).
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/gelu_kernels.h"
#include "kernels/cuda/lanes.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

/// Φ.
__device__ float normal_distribution(float value) {
  constexpr float kInverseRootOfTwo = 0.70710678F;
  return 0.5F + 0.5F * erff(value * kInverseRootOfTwo);
}

/// φ.
__device__ float normal_density(float value) {
  constexpr float kDensityAtZero = 0.39894228F;
  return kDensityAtZero * expf(-0.5F * value * value);
}

template <int kLanes, class T>
__global__ void __launch_bounds__(kThreads)
    gelu_kernel(const T* __restrict__ input, Size packs, T* __restrict__ output) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  Lanes<T, kLanes> values = load<kLanes>(input, pack);
  for (T& value : values.at) {
    const float x = widened(value);
    value = narrowed<T>(x * normal_distribution(x));
  }
  store(output, pack, values);
}

template <int kLanes, class T>
__global__ void __launch_bounds__(kThreads)
    gelu_gradient_kernel(const T* __restrict__ input, const T* __restrict__ output_gradient,
                         Size packs, T* __restrict__ input_gradient) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  const Lanes<T, kLanes> values = load<kLanes>(input, pack);
  Lanes<T, kLanes> gradients = load<kLanes>(output_gradient, pack);
  for (int lane = 0; lane < kLanes; ++lane) {
    const float x = widened(values.at[lane]);
    const float slope = normal_distribution(x) + x * normal_density(x);
    gradients.at[lane] = narrowed<T>(widened(gradients.at[lane]) * slope);
  }
  store(input_gradient, pack, gradients);
}

}  // namespace

template <class T>
void gelu(const T* input, Size count, T* output, cudaStream_t stream) {
  in_packs<T>(count, are_aligned(input, output), [&](auto lanes, Size first, Size packs) {
    gelu_kernel<lanes()>
        <<<blocks_for(packs), kThreads, 0, stream>>>(input + first, packs, output + first);
    PTBENCH_CUDA_LAUNCHED(gelu_kernel);
  });
}

template <class T>
void gelu_gradient(const T* input, const T* output_gradient, Size count, T* input_gradient,
                   cudaStream_t stream) {
  const bool aligned = are_aligned(input, output_gradient, input_gradient);
  in_packs<T>(count, aligned, [&](auto lanes, Size first, Size packs) {
    gelu_gradient_kernel<lanes()><<<blocks_for(packs), kThreads, 0, stream>>>(
        input + first, output_gradient + first, packs, input_gradient + first);
    PTBENCH_CUDA_LAUNCHED(gelu_gradient_kernel);
  });
}

template void gelu(const float*, Size, float*, cudaStream_t);
template void gelu(const Bf16*, Size, Bf16*, cudaStream_t);
template void gelu(const F16*, Size, F16*, cudaStream_t);
template void gelu_gradient(const float*, const float*, Size, float*, cudaStream_t);
template void gelu_gradient(const Bf16*, const Bf16*, Size, Bf16*, cudaStream_t);
template void gelu_gradient(const F16*, const F16*, Size, F16*, cudaStream_t);

}  // namespace ptbench::cuda
