#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "kernels/cpu/avx512_vectors.h"
#include "kernels/cpu/image.h"
#include "src/base/size.h"

// Products of transformed patches and weights, shared by the filters of images.
//
// Compiled into each of the files that include it. Only where __x86_64__ is defined.
#if defined(__x86_64__)
namespace ptbench::winograd_f32 {

/// 14 × 2 sums, 2 of weights and a broadcast fill 31 registers.
constexpr std::size_t kMostRows = 14;
constexpr std::size_t kMostColumns = 2;  ///< vectors

/// sums = patches · weights. Patches are blocks of 16 channels of `Rows` tiles, weights vectors of
/// `Columns` · 16 outputs, one after the other for each input channel; sums lie `stride` apart.
template <std::size_t Rows, std::size_t Columns>
[[PTBENCH_AVX512]] static void multiply(Size blocks, const float* patches, const float* weights,
                                        float* sums, Size stride) {
  constexpr auto rows = static_cast<Size>(Rows);
  constexpr auto columns = static_cast<Size>(Columns);
  constexpr Size kAhead = 32 * columns * kChannelBlock;  // weights come from the last cache
  __m512 total[Rows][Columns];
#pragma GCC unroll 14
  for (auto& row : total)
#pragma GCC unroll 2
    for (auto& sum : row) sum = _mm512_setzero_ps();
  for (Size block = 0; block < blocks; ++block, patches += rows * kChannelBlock)
    for (Size channel = 0; channel < kChannelBlock; ++channel, weights += columns * kChannelBlock) {
      __m512 w[Columns];
#pragma GCC unroll 2
      for (Size column = 0; column < columns; ++column) {
        w[column] = _mm512_loadu_ps(weights + column * kChannelBlock);
        __builtin_prefetch(weights + kAhead + column * kChannelBlock);
      }
#pragma GCC unroll 14
      for (Size row = 0; row < rows; ++row) {
        const __m512 patch = _mm512_set1_ps(patches[row * kChannelBlock + channel]);
#pragma GCC unroll 2
        for (Size column = 0; column < columns; ++column)
          total[row][column] = _mm512_fmadd_ps(patch, w[column], total[row][column]);
      }
    }
#pragma GCC unroll 14
  for (Size row = 0; row < rows; ++row)
#pragma GCC unroll 2
    for (Size column = 0; column < columns; ++column)
      _mm512_storeu_ps(sums + row * stride + column * kChannelBlock, total[row][column]);
}

/// What is added to the sums of a pass.
struct Addends {
  const float* bias = nullptr;  ///< of all outputs, where there is one
  bool present = false;         ///< what the results hold already

  /// Of a block of outputs; zeros in the padding.
  [[PTBENCH_AVX512]] __m512 bias_of(const ImageShape& result, Size block) const {
    if (bias == nullptr) return _mm512_setzero_ps();
    const Size channels = std::min(kChannelBlock, result.channels - block * kChannelBlock);
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << channels) - 1),
                                 bias + block * kChannelBlock);
  }
};

using Multiply = void (*)(Size, const float*, const float*, float*, Size);

template <std::size_t Columns, std::size_t... Rows>
static constexpr std::array<Multiply, kMostRows> products_of(
    std::index_sequence<Rows...> /*rows*/) {
  return {multiply<Rows + 1, Columns>...};
}
constexpr auto kRowCounts = std::make_index_sequence<kMostRows>{};
/// By columns and rows, from 1 each.
constexpr std::array<std::array<Multiply, kMostRows>, kMostColumns> kProducts{
    products_of<1>(kRowCounts), products_of<2>(kRowCounts)};

}  // namespace ptbench::winograd_f32
#endif
