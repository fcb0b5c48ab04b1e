// Average pools: means of windows, and for each pixel of the input the sum over all windows that
// cover it.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/pool_windows.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes, class T>
__device__ void add(float (&sums)[kLanes], const Lanes<T, kLanes>& values) {
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] += widened(values.at[lane]);
}

/// What is written of sums over windows, padding included.
template <class T, int kLanes>
__device__ Lanes<T, kLanes> means_of(const float (&sums)[kLanes], const PoolShape& shape) {
  const auto pixels = static_cast<float>(shape.kernel_height * shape.kernel_width);
  Lanes<T, kLanes> means;
  for (int lane = 0; lane < kLanes; ++lane) means.at[lane] = narrowed<T>(sums[lane] / pixels);
  return means;
}

template <int kLanes, int kParts, class T>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    average_kernel(PoolShape shape, unsigned packs, const T* __restrict__ input,
                   T* __restrict__ output) {
  const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  float sums[kLanes] = {};
  if (index < packs) {
    const unsigned channel_packs = static_cast<unsigned>(shape.channels / kLanes);
    const Place at = place_of(index, channel_packs, shape.output_width, shape.output_height);
    const int top = at.row * shape.stride_height - shape.padding_height;
    const int left = at.column * shape.stride_width - shape.padding_width;
    const Part rows = taps_on_image(top, shape.kernel_height, shape.height);
    const Part columns = taps_on_image(left, shape.kernel_width, shape.width);
    for (int row = rows.begin + static_cast<int>(threadIdx.y); row < rows.end; row += kParts)
#pragma unroll 2
      for (int column = columns.begin; column < columns.end; ++column)
        add(sums, load<kLanes>(input, pack_at(at, top + row, left + column, shape.height,
                                              shape.width, channel_packs)));
  }
  if constexpr (kParts > 1) {
    __shared__ float parts[kParts][kLanes][kWarp];
    for (int lane = 0; lane < kLanes; ++lane) parts[threadIdx.y][lane][threadIdx.x] = sums[lane];
    __syncthreads();
    if (threadIdx.y != 0) return;
    for (int part = 1; part < kParts; ++part)
      for (int lane = 0; lane < kLanes; ++lane) sums[lane] += parts[part][lane][threadIdx.x];
  }
  if (index < packs) store(output, index, means_of<T>(sums, shape));
}

template <int kLanes, class T>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    average_gradient_kernel(PoolShape shape, unsigned packs, const T* __restrict__ output_gradient,
                            T* __restrict__ input_gradient) {
  const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= packs) return;
  const unsigned channel_packs = static_cast<unsigned>(shape.channels / kLanes);
  const Place at = place_of(index, channel_packs, shape.width, shape.height);
  const Part rows = windows_over(at.row + shape.padding_height, shape.kernel_height,
                                 shape.stride_height, shape.output_height);
  const Part columns = windows_over(at.column + shape.padding_width, shape.kernel_width,
                                    shape.stride_width, shape.output_width);
  float sums[kLanes] = {};
  for (int row = rows.begin; row < rows.end; ++row)
#pragma unroll 2
    for (int column = columns.begin; column < columns.end; ++column)
      add(sums, load<kLanes>(output_gradient, pack_at(at, row, column, shape.output_height,
                                                      shape.output_width, channel_packs)));
  store(input_gradient, index, means_of<T>(sums, shape));
}

}  // namespace

template <class T>
void average_pool(const PoolShape& shape, const T* input, T* output, cudaStream_t stream) {
  const Size inputs = Size{shape.height} * shape.width * shape.channels;
  const Size pixels = Size{shape.output_height} * shape.output_width;
  in_samples<T>(shape, pixels, are_aligned(input, output),
                [&](auto lanes, Size sample, unsigned packs) {
                  const T* from = input + sample * inputs;
                  T* to = output + sample * pixels * shape.channels;
                  if (shape.window() >= kSharedWindow)
                    average_kernel<lanes(), kSlices>
                        <<<(packs + kWarp - 1) / kWarp, dim3(kWarp, kSlices), 0, stream>>>(
                            shape, packs, from, to);
                  else
                    average_kernel<lanes(), 1>
                        <<<blocks_for(packs), kThreads, 0, stream>>>(shape, packs, from, to);
                  PTBENCH_CUDA_LAUNCHED(average_kernel);
                });
}

template <class T>
void average_pool_gradient(const PoolShape& shape, const T* output_gradient, T* input_gradient,
                           cudaStream_t stream) {
  const Size pixels = Size{shape.height} * shape.width;
  const Size outputs = Size{shape.output_height} * shape.output_width * shape.channels;
  const bool aligned = are_aligned(output_gradient, input_gradient);
  in_samples<T>(shape, pixels, aligned, [&](auto lanes, Size sample, unsigned packs) {
    average_gradient_kernel<lanes()><<<blocks_for(packs), kThreads, 0, stream>>>(
        shape, packs, output_gradient + sample * outputs,
        input_gradient + sample * pixels * shape.channels);
    PTBENCH_CUDA_LAUNCHED(average_gradient_kernel);
  });
}

template void average_pool(const PoolShape&, const float*, float*, cudaStream_t);
template void average_pool(const PoolShape&, const Bf16*, Bf16*, cudaStream_t);
template void average_pool(const PoolShape&, const F16*, F16*, cudaStream_t);
template void average_pool_gradient(const PoolShape&, const float*, float*, cudaStream_t);
template void average_pool_gradient(const PoolShape&, const Bf16*, Bf16*, cudaStream_t);
template void average_pool_gradient(const PoolShape&, const F16*, F16*, cudaStream_t);

}  // namespace ptbench::cuda
