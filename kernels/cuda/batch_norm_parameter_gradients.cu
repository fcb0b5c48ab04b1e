// The sums of backward: Σg and Σg·(x - mean) of every channel, g being the gradient before addition
// and rectifier. Threads and blocks are summed in fixed trees, slices in double by a second kernel.
#include "kernels/cuda/batch_norm_gradient.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <class Real>
struct Sums {
  Real gradient;  ///< Σg
  Real product;   ///< Σg·(x - mean)
};

template <class Real>
__device__ Sums<Real> merged(const Sums<Real>& a, const Sums<Real>& b) {
  return {.gradient = a.gradient + b.gradient, .product = a.product + b.product};
}

template <int kLanes, Mask kMask, bool kTwoTerms, class T>
__global__ void __launch_bounds__(kTileThreads, kTilesAtOnce)
    gradient_sums_kernel(const T* __restrict__ input, const T* __restrict__ first,
                         const T* __restrict__ second, const std::uint8_t* __restrict__ open,
                         BatchNormTiles tiles, BatchNormStatistics statistics,
                         BatchNormParameters parameters, SliceValues slices, T* __restrict__ kept) {
  const Size slice = slice_of_block(tiles);
  const TilePlace place = place_of_thread<kLanes>(tiles, slice);
  Sums<float> sums[kLanes] = {};
  if (place.rows > 0) {
    const Affine<kLanes> affine = affine_of<kLanes>(statistics, parameters, place.channel);
#pragma unroll(kBackwardRowsAtOnce<kLanes>)
    for (int row = 0; row < place.rows; ++row) {
      const Size pack = place.pack(row);
      const GradientPack<kLanes> at =
          load_gradient<kMask, kTwoTerms>(input, first, second, open, pack, affine);
      Lanes<T, kLanes> gradients;
      for (int lane = 0; lane < kLanes; ++lane) {
        sums[lane].gradient += at.gradient[lane];
        sums[lane].product = __fmaf_rn(at.gradient[lane], at.centered[lane], sums[lane].product);
        gradients.at[lane] = narrowed<T>(at.gradient[lane]);
      }
      if constexpr (kMask != Mask::input)
        if (kept != nullptr) store(kept, pack, gradients);
    }
  }
  merge_columns(sums);
  if (threadIdx.y != 0 || place.channel >= tiles.channels) return;
  const Size begin = slice * tiles.channels + place.channel;
  for (int lane = 0; lane < kLanes; ++lane) {
    slices.first[begin + lane] = sums[lane].gradient;
    slices.second[begin + lane] = sums[lane].product;
  }
}

__global__ void __launch_bounds__(kTileThreads)
    parameter_gradients_kernel(SliceValues slices, BatchNormTiles tiles,
                               BatchNormStatistics statistics,
                               BatchNormParameterGradients gradients, BatchNormSlopes slopes) {
  const Size channel = channel_of_thread();
  Sums<double> sums[1] = {};
  if (channel < tiles.channels) {
#pragma unroll 4
    for (Size slice = threadIdx.y; slice < tiles.slices; slice += kSlicesAtOnce) {
      const Size i = slice * tiles.channels + channel;
      sums[0] = merged(sums[0], {.gradient = slices.first[i], .product = slices.second[i]});
    }
  }
  merge_columns(sums);
  if (threadIdx.y != 0 || channel >= tiles.channels) return;
  const double inverse = statistics.inverse_deviation[channel];
  const double product = sums[0].product * inverse;
  const auto weight = static_cast<float>(product);
  const auto bias = static_cast<float>(sums[0].gradient);
  gradients.weight[channel] = gradients.adds ? gradients.weight[channel] + weight : weight;
  gradients.bias[channel] = gradients.adds ? gradients.bias[channel] + bias : bias;
  const auto count = static_cast<double>(tiles.rows);
  slopes.offset[channel] = static_cast<float>(sums[0].gradient / count);
  slopes.slope[channel] = static_cast<float>(product * inverse / count);
}

}  // namespace

template <class T>
void batch_norm_parameter_gradients(const T* input, const OutputGradient<T>& gradient,
                                    const BatchNormShape& shape,
                                    const BatchNormStatistics& statistics,
                                    const BatchNormParameters& parameters,
                                    const SliceValues& slices,
                                    const BatchNormParameterGradients& gradients,
                                    const BatchNormSlopes& slopes, T* kept, cudaStream_t stream) {
  const BatchNormTiles tiles = batch_norm_tiles<T>(shape);
  with_lanes<T>(tiles, [&](auto lanes) {
    with_terms(gradient, [&](auto mask, auto two) {
      gradient_sums_kernel<lanes(), mask(), two()>
          <<<blocks_of(tiles), threads_of(tiles), 0, stream>>>(
              input, gradient.first, gradient.second, gradient.open, tiles, statistics, parameters,
              slices, kept);
      PTBENCH_CUDA_LAUNCHED(gradient_sums_kernel);
    });
  });
  parameter_gradients_kernel<<<blocks_over_slices(tiles), threads_over_slices(), 0, stream>>>(
      slices, tiles, statistics, gradients, slopes);
  PTBENCH_CUDA_LAUNCHED(parameter_gradients_kernel);
}

template void batch_norm_parameter_gradients(const float*, const OutputGradient<float>&,
                                             const BatchNormShape&, const BatchNormStatistics&,
                                             const BatchNormParameters&, const SliceValues&,
                                             const BatchNormParameterGradients&,
                                             const BatchNormSlopes&, float*, cudaStream_t);
template void batch_norm_parameter_gradients(const Bf16*, const OutputGradient<Bf16>&,
                                             const BatchNormShape&, const BatchNormStatistics&,
                                             const BatchNormParameters&, const SliceValues&,
                                             const BatchNormParameterGradients&,
                                             const BatchNormSlopes&, Bf16*, cudaStream_t);
template void batch_norm_parameter_gradients(const F16*, const OutputGradient<F16>&,
                                             const BatchNormShape&, const BatchNormStatistics&,
                                             const BatchNormParameters&, const SliceValues&,
                                             const BatchNormParameterGradients&,
                                             const BatchNormSlopes&, F16*, cudaStream_t);

}  // namespace ptbench::cuda
