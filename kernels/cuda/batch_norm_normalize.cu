// Normalises, adds the second input and rectifies in one pass.
#include "kernels/cuda/batch_norm_affine.cuh"
#include "kernels/cuda/batch_norm_kernels.h"
#include "kernels/cuda/batch_norm_tiles.cuh"
#include "kernels/cuda/element.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes, bool kAdds, bool kRectifies, class T>
__global__ void __launch_bounds__(kTileThreads, kTilesAtOnce)
    normalize_kernel(const T* __restrict__ input, const T* __restrict__ second,
                     BatchNormTiles tiles, BatchNormStatistics statistics,
                     BatchNormParameters parameters, T* __restrict__ output,
                     std::uint8_t* __restrict__ open) {
  const TilePlace place = place_of_thread<kLanes>(tiles, slice_from_behind(tiles));
  if (place.rows == 0) return;
  const Affine<kLanes> affine = affine_of<kLanes>(statistics, parameters, place.channel);
#pragma unroll(kForwardRowsAtOnce<kLanes>)
  for (int row = place.rows - 1; row >= 0; --row) {
    const Size pack = place.pack(row);
    Lanes<T, kLanes> values = load<kLanes>(input, pack);
    [[maybe_unused]] Lanes<T, kLanes> others;
    if constexpr (kAdds) others = load<kLanes>(second, pack);
    [[maybe_unused]] unsigned bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      float value = normalized(widened(values.at[lane]) - affine.mean[lane], affine, lane);
      if constexpr (kAdds) value += widened(others.at[lane]);
      if constexpr (kRectifies) value = value < 0 ? 0.0F : value;
      values.at[lane] = narrowed<T>(value);
      if constexpr (kRectifies) bits |= static_cast<unsigned>(is_open(values.at[lane])) << lane;
    }
    store(output, pack, values);
    if constexpr (kRectifies)
      if (open != nullptr) open[pack] = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace

template <class T>
void batch_norm_normalize(const Normalization<T>& tensors, const BatchNormShape& shape,
                          const BatchNormStatistics& statistics,
                          const BatchNormParameters& parameters, cudaStream_t stream) {
  const BatchNormTiles tiles = batch_norm_tiles<T>(shape);
  with_lanes<T>(tiles, [&](auto lanes) {
    with_flag(tensors.second != nullptr, [&](auto adds) {
      with_flag(tensors.rectified, [&](auto rectifies) {
        normalize_kernel<lanes(), adds(), rectifies()>
            <<<blocks_of(tiles), threads_of(tiles), 0, stream>>>(tensors.input, tensors.second,
                                                                 tiles, statistics, parameters,
                                                                 tensors.output, tensors.open);
        PTBENCH_CUDA_LAUNCHED(normalize_kernel);
      });
    });
  });
}

template void batch_norm_normalize(const Normalization<float>&, const BatchNormShape&,
                                   const BatchNormStatistics&, const BatchNormParameters&,
                                   cudaStream_t);
template void batch_norm_normalize(const Normalization<Bf16>&, const BatchNormShape&,
                                   const BatchNormStatistics&, const BatchNormParameters&,
                                   cudaStream_t);
template void batch_norm_normalize(const Normalization<F16>&, const BatchNormShape&,
                                   const BatchNormStatistics&, const BatchNormParameters&,
                                   cudaStream_t);

}  // namespace ptbench::cuda
