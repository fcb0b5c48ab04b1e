#pragma once

#include <type_traits>

#include "kernels/cuda/batch_norm_tiles.h"
#include "kernels/cuda/lanes.cuh"

// What kernels that go over batch_norm_tiles have in common.
namespace ptbench::cuda {

/// Tiles that a multiprocessor has at once.
constexpr int kTilesAtOnce = kBusyThreads / kTileThreads;

inline dim3 threads_of(const BatchNormTiles& tiles) {
  return {static_cast<unsigned>(tiles.width), static_cast<unsigned>(tiles.height)};
}
inline unsigned blocks_of(const BatchNormTiles& tiles) {
  return static_cast<unsigned>(tiles.columns * tiles.slices);
}

/// So many rows' loads of each tensor a thread has under way at once, as registers allow.
template <int kLanes>
constexpr int kForwardRowsAtOnce = kLanes > 4 ? 2 : 4;
template <int kLanes>
constexpr int kBackwardRowsAtOnce = kLanes == 1 ? 4 : 1;

/// Calls launch(lanes) with the tiles' lanes as a type.
template <class T, class Launch>
void with_lanes(const BatchNormTiles& tiles, const Launch& launch) {
  if (tiles.lanes == kMostLanes<T>)
    launch(std::integral_constant<int, kMostLanes<T>>());
  else
    launch(std::integral_constant<int, 1>());
}

/// Calls launch(flag) with the flag as a type.
template <class Launch>
void with_flag(bool flag, const Launch& launch) {
  if (flag)
    launch(std::true_type());
  else
    launch(std::false_type());
}

/// Neighbours in a row belong to blocks that run at the same time.
__device__ inline Size slice_of_block(const BatchNormTiles& tiles) {
  return blockIdx.x / static_cast<unsigned>(tiles.columns);
}
/// The other way round, for passes that follow one over the same tensors: they begin with what that
/// one read last, which the cache still holds, and so do the rows of their threads.
__device__ inline Size slice_from_behind(const BatchNormTiles& tiles) {
  return tiles.slices - 1 - slice_of_block(tiles);
}

/// What the calling thread has of a slice.
template <int kLanes>
__device__ TilePlace place_of_thread(const BatchNormTiles& tiles, Size slice) {
  return place_in<kLanes>(tiles, {.slice = slice,
                                  .column = blockIdx.x % static_cast<unsigned>(tiles.columns),
                                  .x = threadIdx.x,
                                  .y = threadIdx.y});
}

/// Merges the parts of all threads of a block with the same x into that of its first one; a tree
/// whose order is fixed. Every thread of the block takes part, and there is a function
/// `merged(part, part)`. The block is a power of two high.
template <int kLanes, class Part>
__device__ void merge_columns(Part (&own)[kLanes]) {
  __shared__ Part others[kLanes][kTileThreads / 2];
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int half = static_cast<int>(blockDim.y) / 2; half > 0; half /= 2) {
    const int merging = half * static_cast<int>(blockDim.x);  // threads
    if (thread >= merging && thread < 2 * merging)
      for (int lane = 0; lane < kLanes; ++lane) others[lane][thread - merging] = own[lane];
    __syncthreads();
    if (thread < merging)
      for (int lane = 0; lane < kLanes; ++lane) own[lane] = merged(own[lane], others[lane][thread]);
    __syncthreads();
  }
}

// Kernels that end such a sum over the slices: a block has a few channels, and its threads the
// slices in turn.
constexpr int kChannelsOfBlock = 8;  // floats side by side that memory delivers at least
constexpr int kSlicesAtOnce = kTileThreads / kChannelsOfBlock;

inline dim3 threads_over_slices() { return {kChannelsOfBlock, kSlicesAtOnce}; }
inline unsigned blocks_over_slices(const BatchNormTiles& tiles) {
  return static_cast<unsigned>((tiles.channels + kChannelsOfBlock - 1) / kChannelsOfBlock);
}
__device__ inline Size channel_of_thread() {
  return number_of({.block = blockIdx.x, .block_threads = kChannelsOfBlock, .thread = threadIdx.x});
}

}  // namespace ptbench::cuda
