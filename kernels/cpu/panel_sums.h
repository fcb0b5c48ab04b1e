#pragma once

// The sums of a panel's tile, rows × blocks of sixteen floats, in AVX-512 registers. Static, as
// each is compiled into its callers. Only where __x86_64__ is defined.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>

#include "kernels/cpu/pair_products.h"

namespace ptbench::products {

/// The most rows of a tile: 6 × 4 sums, 4 vectors of columns and a broadcast fit the 32 registers.
constexpr Size kMostRows = 6;

/// What lies at `sums`, rows `sums_row` floats apart, where the tile is added to it; else zeros.
template <std::size_t Rows, std::size_t Blocks>
[[gnu::always_inline, gnu::target("avx512f")]] static inline void load_sums(
    const float* sums, Size sums_row, bool add, __m512 (&total)[Rows][Blocks]) {
#pragma GCC unroll 6
  for (Size row = 0; row < static_cast<Size>(Rows); ++row)
#pragma GCC unroll 4
    for (Size block = 0; block < static_cast<Size>(Blocks); ++block)
      total[row][block] =
          add ? _mm512_loadu_ps(sums + row * sums_row + block * kBlock) : _mm512_setzero_ps();
}

template <std::size_t Rows, std::size_t Blocks>
[[gnu::always_inline, gnu::target("avx512f")]] static inline void store_sums(
    const __m512 (&total)[Rows][Blocks], float* sums, Size sums_row) {
#pragma GCC unroll 6
  for (Size row = 0; row < static_cast<Size>(Rows); ++row)
#pragma GCC unroll 4
    for (Size block = 0; block < static_cast<Size>(Blocks); ++block)
      _mm512_storeu_ps(sums + row * sums_row + block * kBlock, total[row][block]);
}

}  // namespace ptbench::products
#endif
