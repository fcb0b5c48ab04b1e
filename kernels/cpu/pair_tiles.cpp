#include "kernels/cpu/pair_tiles.h"

#include "kernels/cpu/amx_tiles.h"
#include "src/base/error.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace ptbench::products {
namespace {

using amx::kRows;

constexpr std::size_t bytes_of_words(Size words) {
  return static_cast<std::size_t>(words) * sizeof(std::uint32_t);
}

/// One or two times 16 rows by one or two blocks. Tiles 0 to 3 are sums, 4 and 5 rows of the left
/// side, 6 and 7 blocks of the right one.
template <int Rows, int Blocks>
[[PTBENCH_AMX]] void multiply_tiles(const PanelExtent& extent, const Left& left, const Right& right,
                                    float* sums) {
  const std::size_t left_pitch = bytes_of_words(left.row);
  const std::size_t right_pitch = bytes_of_words(right.step);
  const std::size_t sum_pitch = bytes_of_words(extent.stride);
  float* lower_sums = sums + kRows * extent.stride;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (extent.add) {
    _tile_loadd(0, sums, sum_pitch);
    if constexpr (Blocks == 2) _tile_loadd(1, sums + kBlock, sum_pitch);
    if constexpr (Rows == 2) _tile_loadd(2, lower_sums, sum_pitch);
    if constexpr (Rows == 2 && Blocks == 2) _tile_loadd(3, lower_sums + kBlock, sum_pitch);
  }
  const std::uint32_t* a = left.values;
  const std::uint32_t* b = right.values;
  for (Size step = 0; step < extent.steps; step += kRows, a += kRows, b += kRows * right.step) {
    _tile_loadd(4, a, left_pitch);
    _tile_loadd(6, b, right_pitch);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Blocks == 2) {
      _tile_loadd(7, b + kBlock, right_pitch);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Rows == 2) {
      _tile_loadd(5, a + kRows * left.row, left_pitch);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (Rows == 2 && Blocks == 2) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, sum_pitch);
  if constexpr (Blocks == 2) _tile_stored(1, sums + kBlock, sum_pitch);
  if constexpr (Rows == 2) _tile_stored(2, lower_sums, sum_pitch);
  if constexpr (Rows == 2 && Blocks == 2) _tile_stored(3, lower_sums + kBlock, sum_pitch);
}

/// Some rows by all blocks.
template <int Rows>
void multiply_rows(const PanelExtent& extent, const Left& left, const Right& right, float* sums) {
  Size block = 0;
  for (; block + 2 <= extent.blocks; block += 2)
    multiply_tiles<Rows, 2>(extent, left, {right.values + block * kBlock, right.step},
                            sums + block * kBlock);
  if (block < extent.blocks)
    multiply_tiles<Rows, 1>(extent, left, {right.values + block * kBlock, right.step},
                            sums + block * kBlock);
}

}  // namespace

void multiply_panel_by_tiles(const PanelExtent& extent, const Left& left, const Right& right,
                             float* sums) {
  ensure(extent.rows % kRows == 0 && extent.steps % kRows == 0 && left.step == 1,
         "tiles are whole, and their rows lie side by side");
  amx::memory_is_written();
  for (Size row = 0; row < extent.rows; row += 2 * kRows) {
    const Left part{left.values + row * left.row, left.row, 1};
    float* to = sums + row * extent.stride;
    if (row + kRows < extent.rows)
      multiply_rows<2>(extent, part, right, to);
    else
      multiply_rows<1>(extent, part, right, to);
  }
  amx::memory_is_written();
}

}  // namespace ptbench::products

#else

namespace ptbench::products {

void multiply_panel_by_tiles(const PanelExtent& /*extent*/, const Left& /*left*/,
                             const Right& /*right*/, float* /*sums*/) {
  throw Defect("tiles are x86's");
}

}  // namespace ptbench::products

#endif
