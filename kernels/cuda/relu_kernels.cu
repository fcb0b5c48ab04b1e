#include "kernels/cuda/element.cuh"
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/relu_kernels.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes, class T>
__global__ void __launch_bounds__(kThreads)
    rectify_kernel(const T* __restrict__ input, Size packs, T* __restrict__ output) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  Lanes<T, kLanes> values = load<kLanes>(input, pack);
  for (T& value : values.at)
    if (widened(value) < 0) value = narrowed<T>(0);
  store(output, pack, values);
}

template <int kLanes, class T>
__global__ void __launch_bounds__(kThreads)
    rectify_gradient_kernel(const T* __restrict__ output, const T* __restrict__ output_gradient,
                            Size packs, T* __restrict__ input_gradient) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  const Lanes<T, kLanes> values = load<kLanes>(output, pack);
  Lanes<T, kLanes> gradients = load<kLanes>(output_gradient, pack);
  for (int lane = 0; lane < kLanes; ++lane)
    if (widened(values.at[lane]) <= 0) gradients.at[lane] = narrowed<T>(0);
  store(input_gradient, pack, gradients);
}

}  // namespace

template <class T>
void rectify(const T* input, Size count, T* output, cudaStream_t stream) {
  in_packs<T>(count, are_aligned(input, output), [&](auto lanes, Size first, Size packs) {
    rectify_kernel<lanes()>
        <<<blocks_for(packs), kThreads, 0, stream>>>(input + first, packs, output + first);
    PTBENCH_CUDA_LAUNCHED(rectify_kernel);
  });
}

template <class T>
void rectify_gradient(const T* output, const T* output_gradient, Size count, T* input_gradient,
                      cudaStream_t stream) {
  const bool aligned = are_aligned(output, output_gradient, input_gradient);
  in_packs<T>(count, aligned, [&](auto lanes, Size first, Size packs) {
    rectify_gradient_kernel<lanes()><<<blocks_for(packs), kThreads, 0, stream>>>(
        output + first, output_gradient + first, packs, input_gradient + first);
    PTBENCH_CUDA_LAUNCHED(rectify_gradient_kernel);
  });
}

template void rectify(const float*, Size, float*, cudaStream_t);
template void rectify(const Bf16*, Size, Bf16*, cudaStream_t);
template void rectify(const F16*, Size, F16*, cudaStream_t);
template void rectify_gradient(const float*, const float*, Size, float*, cudaStream_t);
template void rectify_gradient(const Bf16*, const Bf16*, Size, Bf16*, cudaStream_t);
template void rectify_gradient(const F16*, const F16*, Size, F16*, cudaStream_t);

}  // namespace ptbench::cuda
