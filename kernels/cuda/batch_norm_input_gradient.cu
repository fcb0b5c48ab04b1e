// The gradient of the input, once the sums over rows are known.
#include "kernels/cuda/batch_norm_gradient.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes, Mask kMask, bool kTwoTerms, class T>
__global__ void __launch_bounds__(kTileThreads, kTilesAtOnce)
    input_gradient_kernel(const T* __restrict__ input, const T* __restrict__ first,
                          const T* __restrict__ second, const std::uint8_t* __restrict__ open,
                          BatchNormTiles tiles, BatchNormStatistics statistics,
                          BatchNormParameters parameters, BatchNormSlopes slopes,
                          T* __restrict__ input_gradient) {
  const TilePlace place = place_of_thread<kLanes>(tiles, slice_from_behind(tiles));
  if (place.rows == 0) return;
  const Affine<kLanes> affine = affine_of<kLanes>(statistics, parameters, place.channel);
  float offset[kLanes];
  float slope[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    offset[lane] = -affine.scale[lane] * slopes.offset[place.channel + lane];
    slope[lane] = -affine.scale[lane] * slopes.slope[place.channel + lane];
  }
#pragma unroll(kBackwardRowsAtOnce<kLanes>)
  for (int row = place.rows - 1; row >= 0; --row) {
    const Size pack = place.pack(row);
    const GradientPack<kLanes> at =
        load_gradient<kMask, kTwoTerms>(input, first, second, open, pack, affine);
    Lanes<T, kLanes> gradients;
    for (int lane = 0; lane < kLanes; ++lane) {
      const float of_sums = __fmaf_rn(at.centered[lane], slope[lane], offset[lane]);
      gradients.at[lane] = narrowed<T>(__fmaf_rn(at.gradient[lane], affine.scale[lane], of_sums));
    }
    store(input_gradient, pack, gradients);
  }
}

}  // namespace

template <class T>
void batch_norm_input_gradient(const T* input, const OutputGradient<T>& gradient,
                               const BatchNormShape& shape, const BatchNormStatistics& statistics,
                               const BatchNormParameters& parameters, const BatchNormSlopes& slopes,
                               T* input_gradient, cudaStream_t stream) {
  const BatchNormTiles tiles = batch_norm_tiles<T>(shape);
  with_lanes<T>(tiles, [&](auto lanes) {
    with_terms(gradient, [&](auto mask, auto two) {
      input_gradient_kernel<lanes(), mask(), two()>
          <<<blocks_of(tiles), threads_of(tiles), 0, stream>>>(
              input, gradient.first, gradient.second, gradient.open, tiles, statistics, parameters,
              slopes, input_gradient);
      PTBENCH_CUDA_LAUNCHED(input_gradient_kernel);
    });
  });
}

template void batch_norm_input_gradient(const float*, const OutputGradient<float>&,
                                        const BatchNormShape&, const BatchNormStatistics&,
                                        const BatchNormParameters&, const BatchNormSlopes&, float*,
                                        cudaStream_t);
template void batch_norm_input_gradient(const Bf16*, const OutputGradient<Bf16>&,
                                        const BatchNormShape&, const BatchNormStatistics&,
                                        const BatchNormParameters&, const BatchNormSlopes&, Bf16*,
                                        cudaStream_t);
template void batch_norm_input_gradient(const F16*, const OutputGradient<F16>&,
                                        const BatchNormShape&, const BatchNormStatistics&,
                                        const BatchNormParameters&, const BatchNormSlopes&, F16*,
                                        cudaStream_t);

}  // namespace ptbench::cuda
