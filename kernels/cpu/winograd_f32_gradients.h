#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/avx512_vectors.h"
#include "kernels/cpu/image.h"
#include "kernels/cpu/winograd_f32_windows.h"
#include "kernels/cpu/winograd_tiles.h"
#include "src/base/size.h"

// Products of transformed patches and gradients of y, and the gradients of biases, shared by the
// weights passes of minimal filtering.
//
// Compiled into each of the files that include it. Only where __x86_64__ is defined.
#if defined(__x86_64__)
namespace ptbench::winograd_f32 {

constexpr std::size_t kGradientRows = 8;     ///< inputs
constexpr std::size_t kGradientColumns = 2;  ///< vectors of outputs, at the most

/// sums (8 × `Columns` · 16) = patchesᵀ · gradients, or as much more. Both have a tile's vectors
/// after those of the tile before.
template <std::size_t Columns>
[[PTBENCH_AVX512]] static void multiply_gradients(Size tiles, const float* patches,
                                                  const float* gradients, float* sums, bool add) {
  constexpr auto rows = static_cast<Size>(kGradientRows);
  constexpr auto columns = static_cast<Size>(Columns);
  __m512 total[kGradientRows][Columns];
#pragma GCC unroll 8
  for (Size row = 0; row < rows; ++row)
#pragma GCC unroll 2
    for (Size column = 0; column < columns; ++column)
      total[row][column] =
          add ? _mm512_loadu_ps(sums + (row * columns + column) * kBlock) : _mm512_setzero_ps();
  for (Size tile = 0; tile < tiles; ++tile, patches += kBlock, gradients += columns * kBlock) {
    __m512 g[Columns];
#pragma GCC unroll 2
    for (Size column = 0; column < columns; ++column)
      g[column] = _mm512_loadu_ps(gradients + column * kBlock);
#pragma GCC unroll 8
    for (Size row = 0; row < rows; ++row) {
      const __m512 patch = _mm512_set1_ps(patches[row]);
#pragma GCC unroll 2
      for (Size column = 0; column < columns; ++column)
        total[row][column] = _mm512_fmadd_ps(patch, g[column], total[row][column]);
    }
  }
#pragma GCC unroll 8
  for (Size row = 0; row < rows; ++row)
#pragma GCC unroll 2
    for (Size column = 0; column < columns; ++column)
      _mm512_storeu_ps(sums + (row * columns + column) * kBlock, total[row][column]);
}

using MultiplyGradients = void (*)(Size, const float*, const float*, float*, bool);

/// The product for so many vectors of outputs.
[[nodiscard]] static inline MultiplyGradients gradient_product(Size columns) {
  return columns == 2 ? multiply_gradients<2> : multiply_gradients<1>;
}

/// Transforms the gradients of y of these tiles of a chunk, `Spread` one window at a time, to what
/// products take: points × each 32 outputs × tiles × 32, points `stride` apart.
template <class Spread>
[[PTBENCH_AVX512]] static void spread_gradients(const winograd::Tiles& cut, Range tiles, Size chunk,
                                                const float* gradient, float* spread, Size stride) {
  constexpr auto kColumns = static_cast<Size>(kGradientColumns);
  const Planes planes(cut.result, ImageOrder::blocked);
  for (Size block = 0; block < planes.blocks; ++block) {
    const Size first = block / kColumns * kColumns;  // of those that lie side by side
    const Size columns = std::min(kColumns, planes.blocks - first);
    float* to = spread + (first * chunk + block - first) * kBlock;
    for (Size tile = tiles.begin; tile < tiles.end; ++tile, to += columns * kBlock) {
      const winograd::Place at = cut.place(tile);
      const PlaneWindow window(gradient + planes.offset(at.sample, block), cut.result, at.row,
                               at.column);
      Spread::transform_window(window, to, stride);
    }
  }
}

/// Sums of the gradients of y over samples and pixels.
[[PTBENCH_AVX512]] static inline void sum_up(const ImageShape& image, const float* gradient,
                                             float* to) {
  const Planes planes(image, ImageOrder::blocked);
  for (Size block = 0; block < planes.blocks; ++block) {
    __m512d low = _mm512_setzero_pd();
    __m512d high = _mm512_setzero_pd();
    for (Size sample = 0; sample < image.batch; ++sample) {
      const float* plane = gradient + planes.offset(sample, block);
      for (Size pixel = 0; pixel < planes.pixels; ++pixel, plane += kBlock) {
        low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm256_loadu_ps(plane)));
        high = _mm512_add_pd(high, _mm512_cvtps_pd(_mm256_loadu_ps(plane + kBlock / 2)));
      }
    }
    alignas(64) float sums[kBlock];
    _mm256_store_ps(sums, _mm512_cvtpd_ps(low));
    _mm256_store_ps(sums + kBlock / 2, _mm512_cvtpd_ps(high));
    std::copy_n(sums, std::min(kBlock, image.channels - block * kBlock), to + block * kBlock);
  }
}

}  // namespace ptbench::winograd_f32
#endif
