#include "kernels/cpu/widened_products.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/avx512_vectors.h"
#include "kernels/cpu/panel_sums.h"
#include "src/base/error.h"

#if defined(__x86_64__)
namespace ptbench::products {
namespace {

/// Words that are widened at a time: with a panel's 64 columns 32 KiB of floats.
constexpr Size kSteps = 64;

/// Rows of floats: (row, step) lies at row · `row` + step · `step`.
struct Floats {
  const float* values = nullptr;
  Size row = 0;
  Size step = 0;
};

[[PTBENCH_AVX512]] inline __m512i first_of(__m512i words) { return _mm512_slli_epi32(words, 16); }
[[PTBENCH_AVX512]] inline __m512i second_of(__m512i words) {
  return _mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000)));
}

inline __mmask16 lanes(Size count) {
  return static_cast<__mmask16>((1U << static_cast<unsigned>(std::min(count, kBlock))) - 1U);
}

/// Two steps of floats for each of words.
[[PTBENCH_AVX512]] void widen_right(const Right& right, Size steps, Size blocks, float* to) {
  for (Size step = 0; step < steps; ++step, to += 2 * blocks * kBlock)
    for (Size block = 0; block < blocks; ++block) {
      const __m512i words = _mm512_loadu_si512(right.values + step * right.step + block * kBlock);
      _mm512_store_si512(to + block * kBlock, first_of(words));
      _mm512_store_si512(to + (blocks + block) * kBlock, second_of(words));
    }
}

/// A row's words lie side by side, and so do its floats, in the order of the values.
[[PTBENCH_AVX512]] Floats widen_rows(const Left& left, Size rows, Size steps, float* to) {
  for (Size row = 0; row < rows; ++row)
    for (Size step = 0; step < steps; step += kBlock / 2) {
      const __m256i values =
          _mm256_maskz_loadu_epi32(static_cast<__mmask8>(lanes(std::min(steps - step, kBlock / 2))),
                                   left.values + row * left.row + step);
      _mm512_store_si512(to + 2 * (row * kSteps + step), first_of(_mm512_cvtepu16_epi32(values)));
    }
  return {to, 2 * kSteps, 1};
}

/// A step's words lie side by side, and so do its floats.
[[PTBENCH_AVX512]] Floats widen_steps(const Left& left, Size rows, Size steps, float* to) {
  for (Size step = 0; step < steps; ++step) {
    const __m512i words = _mm512_maskz_loadu_epi32(lanes(rows), left.values + step * left.step);
    _mm512_store_si512(to + 2 * step * kBlock, first_of(words));
    _mm512_store_si512(to + (2 * step + 1) * kBlock, second_of(words));
  }
  return {to, 1, kBlock};
}

/// sums (+)= left · right, of which a step's floats follow the other's.
template <std::size_t Rows, std::size_t Blocks>
[[PTBENCH_AVX512]] void tile(Size steps, const Floats& left, const float* right, float* sums,
                             Size sums_row, bool add) {
  constexpr auto rows = static_cast<Size>(Rows);
  constexpr auto blocks = static_cast<Size>(Blocks);
  __m512 total[Rows][Blocks];
  load_sums(sums, sums_row, add, total);
  const float* a = left.values;
  for (Size step = 0; step < steps; ++step, a += left.step, right += blocks * kBlock) {
    __m512 columns[Blocks];
#pragma GCC unroll 4
    for (Size block = 0; block < blocks; ++block)
      columns[block] = _mm512_load_ps(right + block * kBlock);
#pragma GCC unroll 6
    for (Size row = 0; row < rows; ++row) {
      const __m512 value = _mm512_set1_ps(a[row * left.row]);
#pragma GCC unroll 4
      for (Size block = 0; block < blocks; ++block)
        total[row][block] = _mm512_fmadd_ps(value, columns[block], total[row][block]);
    }
  }
  store_sums(total, sums, sums_row);
}

using Tile = void (*)(Size, const Floats&, const float*, float*, Size, bool);

template <std::size_t Blocks, std::size_t... Rows>
constexpr std::array<Tile, kMostRows> tiles_of(std::index_sequence<Rows...> /*rows*/) {
  return {tile<Rows + 1, Blocks>...};
}
constexpr auto kRowCounts = std::make_index_sequence<kMostRows>{};
constexpr std::array<std::array<Tile, kMostRows>, kPanelBlocks> kTiles{
    tiles_of<1>(kRowCounts), tiles_of<2>(kRowCounts), tiles_of<3>(kRowCounts),
    tiles_of<4>(kRowCounts)};

}  // namespace

void multiply_panel_widened(const PanelExtent& extent, const Left& left, const Right& right,
                            float* sums) {
  ensure(left.row == 1 || left.step == 1, "words of a row or of a step lie side by side");
  alignas(64) float columns[2 * kSteps * kPanelBlocks * kBlock];
  alignas(64) float values[2 * kSteps * kBlock];  // of at most so many rows
  const auto& tiles = kTiles[static_cast<std::size_t>(extent.blocks - 1)];
  const Size count = (extent.rows + kMostRows - 1) / kMostRows;
  for (Size begin = 0; begin < extent.steps; begin += kSteps) {
    const Size steps = std::min(kSteps, extent.steps - begin);
    widen_right({right.values + begin * right.step, right.step}, steps, extent.blocks, columns);
    for (Size i = 0; i < count; ++i) {
      const Range rows = part_of(extent.rows, i, count);
      const Left part{left.values + rows.begin * left.row + begin * left.step, left.row, left.step};
      const Floats widened = left.step == 1 ? widen_rows(part, rows.size(), steps, values)
                                            : widen_steps(part, rows.size(), steps, values);
      tiles[static_cast<std::size_t>(rows.size() - 1)](2 * steps, widened, columns,
                                                       sums + rows.begin * extent.stride,
                                                       extent.stride, extent.add || begin > 0);
    }
  }
}

}  // namespace ptbench::products

#else

namespace ptbench::products {

void multiply_panel_widened(const PanelExtent& /*extent*/, const Left& /*left*/,
                            const Right& /*right*/, float* /*sums*/) {
  throw Defect("bf16 products are x86's");
}

}  // namespace ptbench::products

#endif
