// Mean and variance of every channel. A thread takes the first value that it meets off all others:
// one of the values whose spread is wanted, so that nothing cancels, however far the mean is from
// zero. Moments of threads are merged within a block, those of blocks by a second kernel.
#include "kernels/cuda/batch_norm_kernels.h"
#include "kernels/cuda/batch_norm_tiles.cuh"
#include "kernels/cuda/element.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

/// Of `count` values.
struct Moments {
  float count;
  float mean;
  float squares;  ///< Σ(x - mean)²
};

__device__ Moments merged(const Moments& a, const Moments& b) {
  if (b.count == 0) return a;
  const float count = a.count + b.count;
  const float share = b.count / count;
  const float distance = b.mean - a.mean;
  return {.count = count,
          .mean = a.mean + distance * share,
          .squares = a.squares + b.squares + distance * distance * (a.count * share)};
}

/// The moments of the calling thread's rows, of which it has at least one.
template <int kLanes, class T>
__device__ void take_moments(const T* __restrict__ input, const TilePlace& place,
                             Moments (&moments)[kLanes]) {
  const Lanes<T, kLanes> origin = load<kLanes>(input, place.first);
  float sum[kLanes] = {};
  float squares[kLanes] = {};
#pragma unroll(kForwardRowsAtOnce<kLanes>)
  for (int row = 1; row < place.rows; ++row) {
    const Lanes<T, kLanes> values = load<kLanes>(input, place.pack(row));
    for (int lane = 0; lane < kLanes; ++lane) {
      const float distance = widened(values.at[lane]) - widened(origin.at[lane]);
      sum[lane] += distance;
      squares[lane] = __fmaf_rn(distance, distance, squares[lane]);
    }
  }
  const auto count = static_cast<float>(place.rows);
  for (int lane = 0; lane < kLanes; ++lane) {
    const float distance = sum[lane] / count;
    const float about_mean = __fmaf_rn(-distance, sum[lane], squares[lane]);
    moments[lane] = {.count = count,
                     .mean = widened(origin.at[lane]) + distance,
                     .squares = about_mean < 0 ? 0 : about_mean};  // NaN stays
  }
}

template <int kLanes, class T>
__global__ void __launch_bounds__(kTileThreads, kTilesAtOnce)
    moments_kernel(const T* __restrict__ input, BatchNormTiles tiles, SliceValues slices) {
  const Size slice = slice_of_block(tiles);
  const TilePlace place = place_of_thread<kLanes>(tiles, slice);
  Moments moments[kLanes] = {};
  if (place.rows > 0) take_moments(input, place, moments);
  merge_columns(moments);
  if (threadIdx.y != 0 || place.channel >= tiles.channels) return;
  const Size first = slice * tiles.channels + place.channel;
  for (int lane = 0; lane < kLanes; ++lane) {
    slices.first[first + lane] = moments[lane].mean;
    slices.second[first + lane] = moments[lane].squares;
  }
}

__device__ float moved(float running, double towards) {
  return static_cast<float>((1 - kMomentum) * double{running} + kMomentum * towards);
}

__device__ float inverse_deviation(double variance) {
  return static_cast<float>(1 / sqrt(variance + kEpsilon));
}

__global__ void __launch_bounds__(kTileThreads)
    statistics_kernel(SliceValues slices, BatchNormTiles tiles, BatchNormStatistics statistics,
                      RunningStatistics running) {
  const Size channel = channel_of_thread();
  Moments moments[1] = {};
  if (channel < tiles.channels) {
#pragma unroll 4
    for (Size slice = threadIdx.y; slice < tiles.slices; slice += kSlicesAtOnce) {
      const Size rows_left = tiles.rows - slice * tiles.slice_rows;
      const Size rows = rows_left < tiles.slice_rows ? rows_left : tiles.slice_rows;
      const Size i = slice * tiles.channels + channel;
      moments[0] = merged(moments[0], {.count = static_cast<float>(rows),
                                       .mean = slices.first[i],
                                       .squares = slices.second[i]});
    }
  }
  merge_columns(moments);
  if (threadIdx.y != 0 || channel >= tiles.channels) return;
  const auto count = static_cast<double>(tiles.rows);
  const double variance = moments[0].squares / count;
  const double unbiased = tiles.rows > 1 ? moments[0].squares / (count - 1) : variance;
  statistics.mean[channel] = moments[0].mean;
  statistics.inverse_deviation[channel] = inverse_deviation(variance);
  running.mean[channel] = moved(running.mean[channel], moments[0].mean);
  running.variance[channel] = moved(running.variance[channel], unbiased);
}

__global__ void __launch_bounds__(kThreads)
    buffers_kernel(RunningStatistics running, Size channels, BatchNormStatistics statistics) {
  const Size channel = pack_of_thread();
  if (channel >= channels) return;
  statistics.mean[channel] = running.mean[channel];
  statistics.inverse_deviation[channel] = inverse_deviation(running.variance[channel]);
}

}  // namespace

template <class T>
void batch_norm_statistics(const T* input, const BatchNormShape& shape, const SliceValues& slices,
                           const BatchNormStatistics& statistics, const RunningStatistics& running,
                           cudaStream_t stream) {
  const BatchNormTiles tiles = batch_norm_tiles<T>(shape);
  with_lanes<T>(tiles, [&](auto lanes) {
    moments_kernel<lanes()>
        <<<blocks_of(tiles), threads_of(tiles), 0, stream>>>(input, tiles, slices);
    PTBENCH_CUDA_LAUNCHED(moments_kernel);
  });
  statistics_kernel<<<blocks_over_slices(tiles), threads_over_slices(), 0, stream>>>(
      slices, tiles, statistics, running);
  PTBENCH_CUDA_LAUNCHED(statistics_kernel);
}

void batch_norm_statistics_of_buffers(const RunningStatistics& running, Size channels,
                                      const BatchNormStatistics& statistics, cudaStream_t stream) {
  buffers_kernel<<<blocks_for(channels), kThreads, 0, stream>>>(running, channels, statistics);
  PTBENCH_CUDA_LAUNCHED(buffers_kernel);
}

template void batch_norm_statistics(const float*, const BatchNormShape&, const SliceValues&,
                                    const BatchNormStatistics&, const RunningStatistics&,
                                    cudaStream_t);
template void batch_norm_statistics(const Bf16*, const BatchNormShape&, const SliceValues&,
                                    const BatchNormStatistics&, const RunningStatistics&,
                                    cudaStream_t);
template void batch_norm_statistics(const F16*, const BatchNormShape&, const SliceValues&,
                                    const BatchNormStatistics&, const RunningStatistics&,
                                    cudaStream_t);

}  // namespace ptbench::cuda
