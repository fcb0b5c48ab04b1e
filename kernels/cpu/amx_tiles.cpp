#include "kernels/cpu/amx_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>

namespace ptbench::amx {
namespace {

/// Shapes of the tiles, as the instruction LDTILECFG reads them.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

// Functions, as g++ compiles constructors without their target.
[[gnu::target("amx-tile")]] void load_configuration() {
  constexpr int kTiles = 8;
  TileShapes shapes;
  std::fill_n(shapes.row_bytes, kTiles, std::uint16_t{64});
  std::fill_n(shapes.rows, kTiles, static_cast<std::uint8_t>(kRows));
  // g++ 12 believes that the instruction reads eight bytes only, and drops the rest of them.
  asm volatile("" : : "m"(shapes));
  _tile_loadconfig(&shapes);
}
[[gnu::target("amx-tile")]] void release() { _tile_release(); }

}  // namespace

Tiles::Tiles() { load_configuration(); }
Tiles::~Tiles() { release(); }

}  // namespace ptbench::amx

#else
#include "src/base/error.h"

namespace ptbench::amx {

Tiles::Tiles() { throw Defect("tiles are x86's"); }
Tiles::~Tiles() = default;

}  // namespace ptbench::amx
#endif
