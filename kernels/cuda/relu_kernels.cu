#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/relu_kernels.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes>
__global__ void __launch_bounds__(kThreads)
    rectify_kernel(const float* __restrict__ input, Size packs, float* __restrict__ output) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  Lanes<float, kLanes> values = load<kLanes>(input, pack);
  for (float& value : values.at) value = value < 0 ? 0.0F : value;
  store(output, pack, values);
}

template <int kLanes>
__global__ void __launch_bounds__(kThreads)
    rectify_gradient_kernel(const float* __restrict__ output,
                            const float* __restrict__ output_gradient, Size packs,
                            float* __restrict__ input_gradient) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  const Lanes<float, kLanes> values = load<kLanes>(output, pack);
  Lanes<float, kLanes> gradients = load<kLanes>(output_gradient, pack);
  for (int lane = 0; lane < kLanes; ++lane)
    if (values.at[lane] <= 0) gradients.at[lane] = 0;
  store(input_gradient, pack, gradients);
}

}  // namespace

void rectify(const float* input, Size count, float* output, cudaStream_t stream) {
  in_packs<float>(count, are_aligned(input, output), [&](auto lanes, Size first, Size packs) {
    rectify_kernel<lanes()>
        <<<blocks_for(packs), kThreads, 0, stream>>>(input + first, packs, output + first);
    PTBENCH_CUDA_LAUNCHED(rectify_kernel);
  });
}

void rectify_gradient(const float* output, const float* output_gradient, Size count,
                      float* input_gradient, cudaStream_t stream) {
  const bool aligned = are_aligned(output, output_gradient, input_gradient);
  in_packs<float>(count, aligned, [&](auto lanes, Size first, Size packs) {
    rectify_gradient_kernel<lanes()><<<blocks_for(packs), kThreads, 0, stream>>>(
        output + first, output_gradient + first, packs, input_gradient + first);
    PTBENCH_CUDA_LAUNCHED(rectify_gradient_kernel);
  });
}

}  // namespace ptbench::cuda
