#pragma once

#include <algorithm>

#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/pool_kernels.h"
#include "kernels/cuda/warp.cuh"

// How threads are spread over the pixels of pools, and which pixels belong to which window.
namespace ptbench::cuda {

/// Threads of a block that share a window: slice s has the window's rows s, s + 8, …
constexpr int kSlices = kThreads / kWarp;
/// Blocks that a multiprocessor has at once.
constexpr int kBlocksAtOnce = kBusyThreads / kThreads;

/// A pack of channels of one pixel.
struct Place {
  unsigned pack;
  int column;
  int row;
  unsigned sample;
};

/// Of images of so many packs a pixel; in the order in which they lie in memory.
__device__ inline Place place_of(unsigned index, unsigned packs, int width, int height) {
  const unsigned pixel = index / packs;
  const unsigned line = pixel / static_cast<unsigned>(width);
  return {.pack = index % packs,
          .column = static_cast<int>(pixel % static_cast<unsigned>(width)),
          .row = static_cast<int>(line % static_cast<unsigned>(height)),
          .sample = line / static_cast<unsigned>(height)};
}

/// Which pack of an image, in the order of memory.
__device__ inline Size pack_at(const Place& at, int row, int column, int height, int width,
                               unsigned packs) {
  return ((Size{at.sample} * height + row) * width + column) * packs + at.pack;
}

/// From `begin` up to before `end`.
struct Part {
  int begin;
  int end;
};

/// The rows (or columns) of a kernel that begins at pixel `start` of an image, without those that
/// lie on padding.
__device__ inline Part taps_on_image(int start, int kernel, int size) {
  return {.begin = start < 0 ? -start : 0, .end = min(kernel, size - start)};
}

/// The rows (or columns) of the output whose windows cover a pixel, which is counted from the begin
/// of the padding.
__device__ inline Part windows_over(int pixel, int kernel, int stride, int outputs) {
  return {.begin = pixel < kernel ? 0 : (pixel - kernel) / stride + 1,
          .end = min(pixel / stride + 1, outputs)};
}

/// Calls launch(lanes, first sample, packs) for parts of a batch with so many pixels a sample:
/// whole packs of 16 bytes of T where channels and addresses allow it. The packs of a part can be
/// counted in 31 bits, which devices divide fast.
template <class T, class Launch>
void in_samples(const PoolShape& shape, Size pixels, bool aligned, const Launch& launch) {
  constexpr Size kMostPacks = (Size{1} << 31U) - 1;
  const auto with_lanes = [&](auto lanes) {
    const Size packs = pixels * (shape.channels / lanes());
    const Size most = std::max<Size>(kMostPacks / std::max<Size>(packs, 1), 1);
    for (Size first = 0; first < shape.batch; first += most)
      launch(lanes, first, static_cast<unsigned>(packs * std::min(most, shape.batch - first)));
  };
  constexpr int kPack = kMostLanes<T>;
  if (aligned && shape.channels % kPack == 0)
    with_lanes(std::integral_constant<int, kPack>());
  else
    with_lanes(std::integral_constant<int, 1>());
}

}  // namespace ptbench::cuda
