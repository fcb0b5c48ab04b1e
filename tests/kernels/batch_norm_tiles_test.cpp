// How the CUDA engine's batch normalisation splits its passes.
#include "kernels/cuda/batch_norm_tiles.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace {

using namespace ptbench;
using cuda::batch_norm_tiles;
using cuda::BatchNormTiles;

Size rows_of_thread(const BatchNormTiles& tiles) { return tiles.slice_rows / tiles.height; }

void check_covers(const BatchNormTiles& tiles) {
  CAPTURE(tiles.rows, tiles.channels, tiles.lanes);
  CHECK(tiles.channels % tiles.lanes == 0);
  CHECK(tiles.width * tiles.height == cuda::kTileThreads);
  CHECK((tiles.width & (tiles.width - 1)) == 0);
  const Size packs = tiles.channels / tiles.lanes;
  CHECK(Size{tiles.columns} * tiles.width >= packs);
  CHECK(Size{tiles.columns - 1} * tiles.width < packs);
  CHECK(tiles.slices * tiles.slice_rows >= tiles.rows);
  CHECK((tiles.slices - 1) * tiles.slice_rows < tiles.rows);
  CHECK(tiles.slice_rows % tiles.height == 0);
  CHECK(rows_of_thread(tiles) >= cuda::kFewestRowsOfThread);
  CHECK(rows_of_thread(tiles) <= cuda::kMostRowsOfThread);
}

/// The last pack that the threads of the last tile come to.
template <int LaneCount>
Size last_pack(const BatchNormTiles& tiles) {
  Size last = -1;
  for (unsigned x = 0; x < static_cast<unsigned>(tiles.width); ++x)
    for (unsigned y = 0; y < static_cast<unsigned>(tiles.height); ++y) {
      const cuda::TilePlace place =
          cuda::place_in<LaneCount>(tiles, {.slice = tiles.slices - 1,
                                            .column = static_cast<unsigned>(tiles.columns) - 1,
                                            .x = x,
                                            .y = y});
      if (place.rows > 0) last = std::max(last, place.pack(place.rows - 1));
    }
  return last;
}

}  // namespace

TEST_CASE("threads of a batch norm's last tile end with its last element") {
  for (const Size rows : {Size{1}, Size{1568}, (Size{1} << 31U) + 1, (Size{1} << 33U) + 1029}) {
    CAPTURE(rows);
    CHECK(last_pack<4>(batch_norm_tiles<float>({.rows = rows, .channels = 64})) == rows * 16 - 1);
    CHECK(last_pack<8>(batch_norm_tiles<Bf16>({.rows = rows, .channels = 64})) == rows * 8 - 1);
    CHECK(last_pack<1>(batch_norm_tiles<F16>({.rows = rows, .channels = 33})) == rows * 33 - 1);
  }
}

TEST_CASE("tiles of batch norm cover every element once") {
  for (const Size rows : {1, 2, 31, 49, 1568, 100'352, 3'211'264, 100'000'000})
    for (const Size channels : {1, 3, 8, 33, 64, 264, 2048, 100'000})
      for (const BatchNormTiles& tiles :
           {batch_norm_tiles<float>({rows, channels}), batch_norm_tiles<Bf16>({rows, channels})})
        check_covers(tiles);
}

TEST_CASE("slices of the widest batch norm have fewer than 2^32 packs") {
  for (const Size channels : {cuda::kMostChannels, cuda::kMostChannels - 1}) {
    const BatchNormTiles tiles = batch_norm_tiles<float>({100'000'000, channels});
    CAPTURE(channels);
    CHECK(tiles.slice_rows * (tiles.channels / tiles.lanes) < Size{1} << 32U);
  }
}

TEST_CASE("threads of batch norm load 16 bytes where the channels allow it") {
  CHECK(batch_norm_tiles<float>({.rows = 9, .channels = 12}).lanes == 4);
  CHECK(batch_norm_tiles<Bf16>({.rows = 9, .channels = 24}).lanes == 8);
  CHECK(batch_norm_tiles<F16>({.rows = 9, .channels = 24}).lanes == 8);
  CHECK(batch_norm_tiles<F16>({.rows = 9, .channels = 12}).lanes == 1);
  CHECK(batch_norm_tiles<float>({.rows = 9, .channels = 33}).lanes == 1);
}

TEST_CASE("large batch norms have tiles enough for a large GPU, and threads rows enough") {
  // Layers of resnet50 with 256 samples.
  for (const auto& [channels, size] : {std::pair{64, 112}, {256, 56}, {512, 28}, {1024, 14}}) {
    const BatchNormTiles tiles =
        batch_norm_tiles<Bf16>({.rows = Size{256} * size * size, .channels = channels});
    CAPTURE(channels, size, rows_of_thread(tiles));
    CHECK(tiles.slices * tiles.columns >= cuda::kTiles);
    CHECK(rows_of_thread(tiles) >= 12);
  }
}
