// Max pools. The forward pass keeps where each window found its largest value, and the backward
// pass asks, for each pixel of the input, all windows that cover it: nothing is added atomically.
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/pool_windows.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

constexpr int kNowhere = std::numeric_limits<int>::max();  // behind every position

/// What a window, or a part of it, gives on.
struct Largest {
  float value;
  int position;
};

/// Positions come in ascending order: the first of equal values stays, and the last NaN.
__device__ void take(Largest& best, float value, int position) {
  if (value > best.value || isnan(value) || best.position == kNowhere) best = {value, position};
}

/// Whether what another part of the window found comes before the best so far.
__device__ bool is_better(const Largest& other, const Largest& best) {
  if (other.position == kNowhere || best.position == kNowhere) return best.position == kNowhere;
  if (isnan(other.value) && isnan(best.value)) return other.position > best.position;
  if (isnan(other.value) || isnan(best.value)) return isnan(other.value);
  if (other.value == best.value) return other.position < best.position;
  return other.value > best.value;
}

template <int kLanes, int kParts, class T, class Index>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    max_kernel(PoolShape shape, unsigned packs, const T* __restrict__ input, T* __restrict__ output,
               Index* __restrict__ positions) {
  const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  Largest best[kLanes];
  for (Largest& lane : best) lane = {-INFINITY, kNowhere};
  if (index < packs) {
    const unsigned channel_packs = static_cast<unsigned>(shape.channels / kLanes);
    const Place at = place_of(index, channel_packs, shape.output_width, shape.output_height);
    const int top = at.row * shape.stride_height - shape.padding_height;
    const int left = at.column * shape.stride_width - shape.padding_width;
    const Part rows = taps_on_image(top, shape.kernel_height, shape.height);
    const Part columns = taps_on_image(left, shape.kernel_width, shape.width);
    for (int row = rows.begin + static_cast<int>(threadIdx.y); row < rows.end; row += kParts)
      for (int column = columns.begin; column < columns.end; ++column) {
        const Lanes<T, kLanes> values = load<kLanes>(
            input, pack_at(at, top + row, left + column, shape.height, shape.width, channel_packs));
        const int position = row * shape.kernel_width + column;
        for (int lane = 0; lane < kLanes; ++lane)
          take(best[lane], widened(values.at[lane]), position);
      }
  }
  if constexpr (kParts > 1) {
    __shared__ Largest parts[kParts][kLanes][kWarp];
    for (int lane = 0; lane < kLanes; ++lane) parts[threadIdx.y][lane][threadIdx.x] = best[lane];
    __syncthreads();
    if (threadIdx.y != 0) return;
    for (int part = 1; part < kParts; ++part)
      for (int lane = 0; lane < kLanes; ++lane) {
        const Largest& other = parts[part][lane][threadIdx.x];
        if (is_better(other, best[lane])) best[lane] = other;
      }
  }
  if (index >= packs) return;
  Lanes<T, kLanes> values;
  Lanes<Index, kLanes> places;
  for (int lane = 0; lane < kLanes; ++lane) {
    values.at[lane] = narrowed<T>(best[lane].value);
    places.at[lane] = static_cast<Index>(best[lane].position);
  }
  store(output, index, values);
  if (positions != nullptr) store(positions, index, places);
}

template <int kLanes, class T, class Index>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    max_gradient_kernel(PoolShape shape, unsigned packs, const T* __restrict__ output_gradient,
                        const Index* __restrict__ positions, T* __restrict__ input_gradient) {
  const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= packs) return;
  const unsigned channel_packs = static_cast<unsigned>(shape.channels / kLanes);
  const Place at = place_of(index, channel_packs, shape.width, shape.height);
  const int y = at.row + shape.padding_height;
  const int x = at.column + shape.padding_width;
  const Part rows = windows_over(y, shape.kernel_height, shape.stride_height, shape.output_height);
  const Part columns = windows_over(x, shape.kernel_width, shape.stride_width, shape.output_width);
  float sums[kLanes] = {};
  for (int row = rows.begin; row < rows.end; ++row)
    for (int column = columns.begin; column < columns.end; ++column) {
      const Size window =
          pack_at(at, row, column, shape.output_height, shape.output_width, channel_packs);
      const Lanes<Index, kLanes> chosen = load<kLanes>(positions, window);
      const Lanes<T, kLanes> gradients = load<kLanes>(output_gradient, window);
      const int position =
          (y - row * shape.stride_height) * shape.kernel_width + (x - column * shape.stride_width);
      for (int lane = 0; lane < kLanes; ++lane)
        if (chosen.at[lane] == position) sums[lane] += widened(gradients.at[lane]);
    }
  Lanes<T, kLanes> results;
  for (int lane = 0; lane < kLanes; ++lane) results.at[lane] = narrowed<T>(sums[lane]);
  store(input_gradient, index, results);
}

}  // namespace

template <class T, class Index>
void max_pool(const PoolShape& shape, const T* input, T* output, Index* positions,
              cudaStream_t stream) {
  const Size inputs = Size{shape.height} * shape.width * shape.channels;
  const Size pixels = Size{shape.output_height} * shape.output_width;
  const bool aligned = are_aligned(input, output, positions);
  in_samples<T>(shape, pixels, aligned, [&](auto lanes, Size sample, unsigned packs) {
    const T* from = input + sample * inputs;
    const Size place = sample * pixels * shape.channels;
    Index* const chosen = positions == nullptr ? nullptr : positions + place;
    if (shape.window() >= kSharedWindow)
      max_kernel<lanes(), kSlices>
          <<<(packs + kWarp - 1) / kWarp, dim3(kWarp, kSlices), 0, stream>>>(
              shape, packs, from, output + place, chosen);
    else
      max_kernel<lanes(), 1>
          <<<blocks_for(packs), kThreads, 0, stream>>>(shape, packs, from, output + place, chosen);
    PTBENCH_CUDA_LAUNCHED(max_kernel);
  });
}

template <class T, class Index>
void max_pool_gradient(const PoolShape& shape, const T* output_gradient, const Index* positions,
                       T* input_gradient, cudaStream_t stream) {
  const Size pixels = Size{shape.height} * shape.width;
  const Size outputs = Size{shape.output_height} * shape.output_width * shape.channels;
  const bool aligned = are_aligned(output_gradient, positions, input_gradient);
  in_samples<T>(shape, pixels, aligned, [&](auto lanes, Size sample, unsigned packs) {
    max_gradient_kernel<lanes()><<<blocks_for(packs), kThreads, 0, stream>>>(
        shape, packs, output_gradient + sample * outputs, positions + sample * outputs,
        input_gradient + sample * pixels * shape.channels);
    PTBENCH_CUDA_LAUNCHED(max_gradient_kernel);
  });
}

using Narrow = std::uint8_t;
using Wide = std::int32_t;
template void max_pool(const PoolShape&, const float*, float*, Narrow*, cudaStream_t);
template void max_pool(const PoolShape&, const float*, float*, Wide*, cudaStream_t);
template void max_pool(const PoolShape&, const Bf16*, Bf16*, Narrow*, cudaStream_t);
template void max_pool(const PoolShape&, const F16*, F16*, Narrow*, cudaStream_t);
template void max_pool(const PoolShape&, const Bf16*, Bf16*, Wide*, cudaStream_t);
template void max_pool(const PoolShape&, const F16*, F16*, Wide*, cudaStream_t);
template void max_pool_gradient(const PoolShape&, const float*, const Narrow*, float*,
                                cudaStream_t);
template void max_pool_gradient(const PoolShape&, const float*, const Wide*, float*, cudaStream_t);
template void max_pool_gradient(const PoolShape&, const Bf16*, const Narrow*, Bf16*, cudaStream_t);
template void max_pool_gradient(const PoolShape&, const F16*, const Narrow*, F16*, cudaStream_t);
template void max_pool_gradient(const PoolShape&, const Bf16*, const Wide*, Bf16*, cudaStream_t);
template void max_pool_gradient(const PoolShape&, const F16*, const Wide*, F16*, cudaStream_t);

}  // namespace ptbench::cuda
