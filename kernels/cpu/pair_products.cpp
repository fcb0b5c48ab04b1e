#include "kernels/cpu/pair_products.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/panel_sums.h"
#include "src/base/error.h"

#if defined(__x86_64__)
namespace ptbench::products {
namespace {

template <std::size_t Rows, std::size_t Blocks>
[[gnu::target("avx512f,avx512bf16,prfchw")]] void tile(Size steps, const Left& left,
                                                       const Right& right, float* sums,
                                                       Size sums_row, bool add) {
  constexpr auto rows = static_cast<Size>(Rows);
  constexpr auto blocks = static_cast<Size>(Blocks);
  __m512 total[Rows][Blocks];
  load_sums(sums, sums_row, add, total);
  // Few steps would else end in waiting for the lines that the sums are written to.
#pragma GCC unroll 6
  for (Size row = 0; row < rows; ++row)
#pragma GCC unroll 4
    for (Size block = 0; block < blocks; ++block)
      __builtin_prefetch(sums + row * sums_row + block * kBlock, 1);
  const std::uint32_t* a = left.values;
  const std::uint32_t* b = right.values;
  for (Size step = 0; step < steps; ++step, a += left.step, b += right.step) {
    __m512bh words[Blocks];
#pragma GCC unroll 4
    for (Size block = 0; block < blocks; ++block)
      words[block] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + block * kBlock));
#pragma GCC unroll 6
    for (Size row = 0; row < rows; ++row) {
      const auto pair =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[row * left.row])));
#pragma GCC unroll 4
      for (Size block = 0; block < blocks; ++block)
        total[row][block] = _mm512_dpbf16_ps(total[row][block], pair, words[block]);
    }
  }
  store_sums(total, sums, sums_row);
}

using Tile = void (*)(Size, const Left&, const Right&, float*, Size, bool);

template <std::size_t Blocks, std::size_t... Rows>
constexpr std::array<Tile, kMostRows> tiles_of(std::index_sequence<Rows...> /*rows*/) {
  return {tile<Rows + 1, Blocks>...};
}
constexpr auto kRowCounts = std::make_index_sequence<kMostRows>{};
constexpr std::array<std::array<Tile, kMostRows>, kPanelBlocks> kTiles{
    tiles_of<1>(kRowCounts), tiles_of<2>(kRowCounts), tiles_of<3>(kRowCounts),
    tiles_of<4>(kRowCounts)};

}  // namespace

void multiply_panel(const PanelExtent& extent, const Left& left, const Right& right, float* sums) {
  const auto& tiles = kTiles[static_cast<std::size_t>(extent.blocks - 1)];
  // Tiles of nearly equal height: one of few rows would wait for its own sums.
  const Size count = (extent.rows + kMostRows - 1) / kMostRows;
  for (Size i = 0; i < count; ++i) {
    const Range rows = part_of(extent.rows, i, count);
    const Left part{left.values + rows.begin * left.row, left.row, left.step};
    tiles[static_cast<std::size_t>(rows.size() - 1)](
        extent.steps, part, right, sums + rows.begin * extent.stride, extent.stride, extent.add);
  }
}

Size packed_offset(Size steps, Size columns, Size step, Size block) {
  const Size panel = block / kPanelBlocks * kPanelBlocks;  // its first block
  const Size width = std::min<Size>(kPanelBlocks, columns / kBlock - panel) * kBlock;
  return panel * kBlock * steps + step * width + (block - panel) * kBlock;
}

void multiply(MultiplyPanel multiply_panel, const Extent& extent, const Left& left,
              const std::uint32_t* right, float* sums) {
  for (Size block = 0; block < extent.columns / kBlock; block += kPanelBlocks) {
    const Size blocks = std::min<Size>(kPanelBlocks, extent.columns / kBlock - block);
    multiply_panel({extent.rows, blocks, extent.steps, extent.add, extent.columns}, left,
                   {right + packed_offset(extent.steps, extent.columns, 0, block), blocks * kBlock},
                   sums + block * kBlock);
  }
}

void multiply_flat(MultiplyPanel multiply_panel, const Extent& extent, const Left& left,
                   const std::uint32_t* right, float* sums) {
  for (Size block = 0; block < extent.columns / kBlock; block += kPanelBlocks) {
    const Size blocks = std::min<Size>(kPanelBlocks, extent.columns / kBlock - block);
    multiply_panel({extent.rows, blocks, extent.steps, extent.add, extent.columns}, left,
                   {right + block * kBlock, extent.columns}, sums + block * kBlock);
  }
}

}  // namespace ptbench::products
#endif
