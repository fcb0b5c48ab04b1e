#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/image.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

// AMX's tiles of 16 rows of 64 bytes, as the conv2d_amx files use all eight: a product of two of
// bf16 sums over 32 of them, and adds to one of 16 × 16 floats.
namespace ptbench::amx {

constexpr Size kPair = 2;                      ///< bf16 of a 32-bit word
constexpr Size kRows = 16;                     ///< of a tile, and words of a row
constexpr Size kDepth = kPair * kRows;         ///< that one product sums over
constexpr Size kSums = kRows * kChannelBlock;  ///< floats of a tile
constexpr Size kElements = kRows * kDepth;     ///< bf16 of a tile
constexpr Size kLine = 64 / sizeof(Bf16);      ///< bf16 of a cache line

/// What _tile_loadconfig takes.
struct alignas(64) Configuration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{};
  std::array<std::uint8_t, 16> rows{};

  Configuration() {
    constexpr std::size_t kTiles = 8;
    std::fill_n(row_bytes.begin(), kTiles, std::uint16_t{64});
    std::fill_n(rows.begin(), kTiles, std::uint8_t{kRows});
  }
};

/// Elements from row to row, at least `elements`: an odd number of cache lines, as a tile's rows
/// would else share few sets of the cache.
[[nodiscard]] constexpr Size pitch_of(Size elements) {
  const Size lines = (elements + kLine - 1) / kLine;
  return (lines % 2 == 0 ? lines + 1 : lines) * kLine;
}

/// Positions of a line (flat_pixels.h) that are packed at a time, and what of the other image is
/// packed with them for taps that reach beyond. All but `begin` are multiples of kDepth.
struct Chunk {
  Size begin = 0;
  Size size = 0;
  Size margin = 0;  ///< before the first
  Size reach = 0;   ///< in all

  /// Cuts `positions` so that what is packed of each, of so many bytes, stays in a core's own
  /// cache beside sums and weights.
  [[nodiscard]] static Chunk of(Size positions, Size bytes, Size least_offset, Size most_offset) {
    constexpr Size kCache = Size{1} << 20U;
    constexpr Size kLeast = 8 * kDepth;
    const Size all = round_up(positions, kDepth);
    const Size most = std::max(kCache / bytes / kDepth * kDepth, kLeast);
    const Size count = (all + most - 1) / most;
    Chunk chunk;
    chunk.size = round_up((all + count - 1) / count, kDepth);
    chunk.margin = round_up(std::max<Size>(0, -least_offset), kDepth);
    chunk.reach = chunk.margin + chunk.size + round_up(std::max<Size>(0, most_offset), kDepth);
    return chunk;
  }
};

}  // namespace ptbench::amx
