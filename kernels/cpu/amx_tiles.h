#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/image.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

// What multiplies tiles; PTBENCH_BF16 (bf16_vectors.h) and these.
#define PTBENCH_AMX \
  gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,prfchw,amx-tile,amx-bf16")

// AMX's tiles of 16 rows of 64 bytes, all eight of which are used: a product of two of
// bf16 sums over 32 of them, and adds to one of 16 × 16 floats.
namespace ptbench::amx {

constexpr Size kPair = 2;                      ///< bf16 of a 32-bit word
constexpr Size kRows = 16;                     ///< of a tile, and words of a row
constexpr Size kDepth = kPair * kRows;         ///< that one product sums over
constexpr Size kSums = kRows * kChannelBlock;  ///< floats of a tile
constexpr Size kElements = kRows * kDepth;     ///< bf16 of a tile
constexpr Size kLine = 64 / sizeof(Bf16);      ///< bf16 of a cache line

/// All eight tiles of the calling thread at full size, for as long as this lives.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

/// g++ 12 does not know that loads of tiles read memory: what was written there before stays
/// before.
inline void memory_is_written() { asm volatile("" : : : "memory"); }

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
  /// cache beside sums and weights, but not so small that the most is packed for taps beyond.
  [[nodiscard]] static Chunk of(Size positions, Size bytes, Size least_offset, Size most_offset) {
    constexpr Size kCache = Size{1} << 20U;
    constexpr Size kLeast = 8 * kDepth;
    const Size margin = round_up(std::max<Size>(0, -least_offset), kDepth);
    const Size beyond = margin + round_up(std::max<Size>(0, most_offset), kDepth);
    const Size all = round_up(positions, kDepth);
    const Size fits = kCache / bytes / kDepth * kDepth;
    const Size most = std::max({fits - beyond, beyond, kLeast});
    const Size count = (all + most - 1) / most;
    const Size size = round_up((all + count - 1) / count, kDepth);
    return {.begin = 0, .size = size, .margin = margin, .reach = size + beyond};
  }
};

}  // namespace ptbench::amx
