// A thread has one pixel: neighbours read neighbouring pixels of each channel's plane, and a
// pixel's channels lie next to each other in the packed image, where a thread moves 16 bytes at a
// time.
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/pixels.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

/// The sizes of both images.
struct Sizes {
  Size pixels;  ///< of the whole batch
  Size plane;   ///< pixels of a sample
  Size channels;
  Size padded;
};

/// Where a pixel lies in the first of its sample's planes.
__device__ Size in_plane(const Sizes& sizes, Size pixel) {
  const Size sample = pixel / sizes.plane;
  return sample * sizes.channels * sizes.plane + (pixel - sample * sizes.plane);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    pack_kernel(const T* __restrict__ plain, Sizes sizes, T* __restrict__ packed) {
  constexpr int kLanes = kMostLanes<T>;
  const Size pixel = pack_of_thread();
  if (pixel >= sizes.pixels) return;
  const T* from = plain + in_plane(sizes, pixel);
  T* to = packed + pixel * sizes.padded;
  for (Size first = 0; first < sizes.padded; first += kLanes) {
    Lanes<T, kLanes> channels{};
    for (int lane = 0; lane < kLanes; ++lane)
      if (first + lane < sizes.channels) channels.at[lane] = from[(first + lane) * sizes.plane];
    store(to + first, 0, channels);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    unpack_kernel(const T* __restrict__ packed, Sizes sizes, T* __restrict__ plain) {
  constexpr int kLanes = kMostLanes<T>;
  const Size pixel = pack_of_thread();
  if (pixel >= sizes.pixels) return;
  const T* from = packed + pixel * sizes.padded;
  T* to = plain + in_plane(sizes, pixel);
  for (Size first = 0; first < sizes.channels; first += kLanes) {
    const Lanes<T, kLanes> channels = load<kLanes>(from + first, 0);
    for (int lane = 0; lane < kLanes; ++lane)
      if (first + lane < sizes.channels) to[(first + lane) * sizes.plane] = channels.at[lane];
  }
}

Sizes sizes_of(const ImageShape& image, Size padded) {
  return {.pixels = image.batch * image.pixels(),
          .plane = image.pixels(),
          .channels = image.channels,
          .padded = padded};
}

}  // namespace

template <class T>
void pack_pixels(const T* plain, const ImageShape& image, Size padded, T* packed,
                 cudaStream_t stream) {
  const Sizes sizes = sizes_of(image, padded);
  pack_kernel<<<blocks_for(sizes.pixels), kThreads, 0, stream>>>(plain, sizes, packed);
  PTBENCH_CUDA_LAUNCHED(pack_kernel);
}

template <class T>
void unpack_pixels(const T* packed, const ImageShape& image, Size padded, T* plain,
                   cudaStream_t stream) {
  const Sizes sizes = sizes_of(image, padded);
  unpack_kernel<<<blocks_for(sizes.pixels), kThreads, 0, stream>>>(packed, sizes, plain);
  PTBENCH_CUDA_LAUNCHED(unpack_kernel);
}

template void pack_pixels<float>(const float*, const ImageShape&, Size, float*, cudaStream_t);
template void pack_pixels<Bf16>(const Bf16*, const ImageShape&, Size, Bf16*, cudaStream_t);
template void pack_pixels<F16>(const F16*, const ImageShape&, Size, F16*, cudaStream_t);
template void unpack_pixels<float>(const float*, const ImageShape&, Size, float*, cudaStream_t);
template void unpack_pixels<Bf16>(const Bf16*, const ImageShape&, Size, Bf16*, cudaStream_t);
template void unpack_pixels<F16>(const F16*, const ImageShape&, Size, F16*, cudaStream_t);

}  // namespace ptbench::cuda
