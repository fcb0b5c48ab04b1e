#pragma once

#include <algorithm>

#include "kernels/cuda/packs.h"
#include "src/base/size.h"
#include "src/device/cuda/grid_threads.h"

namespace ptbench::cuda {

/// The tensors of a batch normalisation: rows × channels, a row for each pixel of each sample.
struct BatchNormShape {
  Size rows;
  Size channels;
};

constexpr int kTileThreads = 256;

/// How a pass over rows × channels is split. A row is cut into packs of `lanes` channels, which a
/// thread loads in one instruction; a block of `width` × `height` threads has `width` packs side by
/// side, in the rows of one slice: thread (x, y) has pack x of the slice's rows y, y + height, … So
/// a thread meets its channels' coefficients once and keeps them, and neighbours load neighbours.
///
/// Depends on nothing but its arguments, and with it the order of all sums.
struct BatchNormTiles {
  Size rows;
  Size channels;
  int lanes;       ///< elements of 16 bytes; 1 where that does not divide the channels
  int width;       ///< a power of two
  int height;      ///< likewise
  int columns;     ///< tiles side by side
  int slice_rows;  ///< the last slice may have fewer
  Size slices;     ///< tiles below each other
};

/// A thread sums so few rows, so that its moments, taken from one of its values, lose at most six
/// bits where that value is far from all others.
constexpr Size kMostRowsOfThread = 64;
/// And so many, where there are, that the tree over a block's threads is not most of the work.
constexpr Size kFewestRowsOfThread = 4;
/// So that a slice has fewer than 2³² packs.
constexpr Size kMostChannels = Size{1} << 22U;
/// Between these bounds there are so many tiles: several for each multiprocessor of a large GPU.
constexpr Size kTiles = 1024;

/// T: element type of the tensors.
template <class T>
BatchNormTiles batch_norm_tiles(const BatchNormShape& shape) {
  constexpr int kMostWidth = 32;  // a warp: four lines of memory
  const int lanes = shape.channels % kMostLanes<T> == 0 ? kMostLanes<T> : 1;
  const Size packs = shape.channels / lanes;
  int width = 1;
  while (width < packs && width < kMostWidth) width *= 2;
  const int height = kTileThreads / width;
  const Size columns = (packs + width - 1) / width;
  const Size thread_rows =
      std::clamp(shape.rows * columns / (kTiles * height), kFewestRowsOfThread, kMostRowsOfThread);
  const Size slice_rows = height * thread_rows;
  return {.rows = shape.rows,
          .channels = shape.channels,
          .lanes = lanes,
          .width = width,
          .height = height,
          .columns = static_cast<int>(columns),
          .slice_rows = static_cast<int>(slice_rows),
          .slices = (shape.rows + slice_rows - 1) / slice_rows};
}

/// A thread, and the tile that its block has.
struct TileThread {
  Size slice = 0;
  unsigned column = 0;  ///< of tiles
  unsigned x = 0;
  unsigned y = 0;
};

/// What a thread has of a slice.
struct TilePlace {
  Size channel;   ///< of its first lane
  Size first;     ///< pack, counted from the begin of the tensor
  unsigned step;  ///< packs from one row to the next
  int rows;       ///< 0 where it stands beside the last channel or below the last row

  /// Of one of its rows. A slice has fewer than 2³² packs, and 32 bits save registers.
  [[nodiscard]] PTBENCH_HOST_DEVICE Size pack(int row) const {
    const unsigned packs = static_cast<unsigned>(row) * step;
    return first + packs;
  }
};

/// `LaneCount`: the lanes of the tiles.
template <int LaneCount>
PTBENCH_HOST_DEVICE TilePlace place_in(const BatchNormTiles& tiles, const TileThread& thread) {
  const Size packs = tiles.channels / LaneCount;
  const Size pack = Size{thread.column} * tiles.width + thread.x;
  const Size slice_begin = thread.slice * tiles.slice_rows;
  const Size rows_left = tiles.rows - slice_begin;
  const int end = rows_left < tiles.slice_rows ? static_cast<int>(rows_left) : tiles.slice_rows;
  const int begin = static_cast<int>(thread.y);
  const bool idle = pack >= packs || begin >= end;
  return {.channel = pack * LaneCount,
          .first = (slice_begin + begin) * packs + pack,
          .step = static_cast<unsigned>(tiles.height * packs),
          .rows = idle ? 0 : (end - begin + tiles.height - 1) / tiles.height};
}

}  // namespace ptbench::cuda
