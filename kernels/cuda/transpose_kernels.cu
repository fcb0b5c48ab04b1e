// Transposition in tiles: a block reads a tile row after row, and writes it column after column, so
// that neighbouring threads have neighbouring elements both times. In between it lies in shared
// memory.
#include <algorithm>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/transpose_kernels.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

constexpr unsigned kSide = 32;              // of a square tile
constexpr unsigned kArea = kSide * kSide;   // the most elements of a tile
constexpr unsigned kSpace = kArea * 3 / 2;  // of a tile with a gap behind each row, if it has two

/// How matrices are cut: square tiles, or, of matrices that are narrower, tiles as narrow as they.
struct Tiling {
  unsigned rows;     ///< of a tile
  unsigned columns;  ///< of a tile
  unsigned down;     ///< tiles
  unsigned across;   ///< tiles

  [[nodiscard]] bool is_square() const { return rows == kSide && columns == kSide; }
};

unsigned parts_of(Size size, unsigned part) {
  return static_cast<unsigned>((size + part - 1) / part);
}

/// As long as the area allows, in whole groups of 32 where there are some.
unsigned length_of(Size size, unsigned width) {
  const unsigned most = kArea / width / kSide * kSide;
  return static_cast<unsigned>(std::min<Size>(size, most));
}

Tiling tiling_of(const MatrixBatch& shape) {
  Tiling tiling{.rows = kSide, .columns = kSide, .down = 0, .across = 0};
  if (shape.rows < kSide) {
    tiling.rows = static_cast<unsigned>(shape.rows);
    tiling.columns = length_of(shape.columns, tiling.rows);
  } else if (shape.columns < kSide) {
    tiling.columns = static_cast<unsigned>(shape.columns);
    tiling.rows = length_of(shape.rows, tiling.columns);
  }
  tiling.down = parts_of(shape.rows, tiling.rows);
  tiling.across = parts_of(shape.columns, tiling.columns);
  return tiling;
}

/// kSquare: the tile's shape is known when this is compiled.
template <bool kSquare, class From, class To>
__global__ void __launch_bounds__(kThreads)
    transpose_kernel(MatrixBatch shape, Tiling tiling, const From* __restrict__ from,
                     To* __restrict__ to) {
  __shared__ float tile[kSpace];
  const unsigned rows = kSquare ? kSide : tiling.rows;
  const unsigned columns = kSquare ? kSide : tiling.columns;
  const unsigned stride = columns | 1U;  // odd: a column's elements lie in different banks
  const unsigned tiles = tiling.down * tiling.across;
  const unsigned place = blockIdx.x % tiles;
  const Size matrix = Size{blockIdx.x / tiles} * shape.rows * shape.columns;
  const Size first_row = Size{place / tiling.across} * rows;
  const Size first_column = Size{place % tiling.across} * columns;

  for (unsigned i = threadIdx.x; i < rows * columns; i += kThreads) {
    const unsigned row = i / columns;
    const unsigned column = i % columns;
    const Size r = first_row + row;
    const Size c = first_column + column;
    if (r < shape.rows && c < shape.columns)
      tile[row * stride + column] = widened(from[matrix + r * shape.columns + c]);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < rows * columns; i += kThreads) {
    const unsigned row = i % rows;
    const unsigned column = i / rows;
    const Size r = first_row + row;
    const Size c = first_column + column;
    if (r < shape.rows && c < shape.columns)
      to[matrix + c * shape.rows + r] = narrowed<To>(tile[row * stride + column]);
  }
}

}  // namespace

template <class From, class To>
void transpose(const MatrixBatch& shape, const From* from, To* to, cudaStream_t stream) {
  const Tiling tiling = tiling_of(shape);
  const auto grid = static_cast<unsigned>(shape.count * tiling.down * tiling.across);
  if (tiling.is_square())
    transpose_kernel<true><<<grid, kThreads, 0, stream>>>(shape, tiling, from, to);
  else
    transpose_kernel<false><<<grid, kThreads, 0, stream>>>(shape, tiling, from, to);
  PTBENCH_CUDA_LAUNCHED(transpose_kernel);
}

template void transpose(const MatrixBatch&, const float*, float*, cudaStream_t);
template void transpose(const MatrixBatch&, const float*, Bf16*, cudaStream_t);
template void transpose(const MatrixBatch&, const float*, F16*, cudaStream_t);
template void transpose(const MatrixBatch&, const Bf16*, float*, cudaStream_t);
template void transpose(const MatrixBatch&, const F16*, float*, cudaStream_t);
template void transpose(const MatrixBatch&, const Bf16*, Bf16*, cudaStream_t);
template void transpose(const MatrixBatch&, const F16*, F16*, cudaStream_t);

}  // namespace ptbench::cuda
