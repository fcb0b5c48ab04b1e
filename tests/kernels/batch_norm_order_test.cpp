// In which order the CPU's batch normalisation visits an image.
#include "kernels/cpu/batch_norm_order.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <vector>

namespace {

using namespace ptbench;
using batch_norm::Order;
using batch_norm::PartSums;
using batch_norm::Sums;
using batch_norm::Tile;

/// How often each element of an image was visited.
class Visits {
 public:
  Visits(const Planes& planes, Size batch)
      : stride_(planes.stride), counts_(static_cast<std::size_t>(planes.offset(batch, 0))) {}

  void add(const Tile& tile) {
    for (Size pixel = 0; pixel < tile.pixels; ++pixel)
      for (Size lane = 0; lane < kChannelBlock; ++lane)
        ++counts_.at(static_cast<std::size_t>(tile.begin + pixel * stride_ + lane));
  }
  [[nodiscard]] bool all_once() const {
    return std::ranges::all_of(counts_, [](int count) { return count == 1; });
  }

 private:
  Size stride_;
  std::vector<int> counts_;
};

}  // namespace

TEST_CASE("batch norm visits every pixel of every block once, in parts and to write") {
  for (const ImageOrder image_order : {ImageOrder::blocked, ImageOrder::channels_last})
    for (const ImageShape& image : {ImageShape{1, 16, 1, 1}, ImageShape{3, 40, 9, 15}}) {
      constexpr int kMembers = 2;
      Team team({0, 0});
      const Planes planes(image, image_order);
      const Order order(planes, image.batch, team, Isa::x86_64, kMembers);
      std::vector<Sums> sums(static_cast<std::size_t>(kMembers * planes.blocks));
      std::vector<PartSums> parts(sums.size());
      Visits summed(planes, image.batch);
      Visits parted(planes, image.batch);
      std::atomic<int> wrong{0};  // members visit at the same time, Catch2's checks may not
      order.sum_up(
          sums.data(), parts.data(),
          [&](auto /*vector*/, const Tile& tile, const Tile& part, PartSums& of_part) {
            summed.add(tile);
            if (tile.block != part.block) ++wrong;
            of_part.first[0] += static_cast<float>(tile.pixels);
          },
          [&](auto /*vector*/, const Tile& part, const PartSums& of_part, Sums& all) {
            parted.add(part);
            if (part.pixels > batch_norm::kPart) ++wrong;
            if (of_part.first[0] != static_cast<float>(part.pixels)) ++wrong;
            all.first[0] += static_cast<double>(of_part.first[0]);
          });
      CHECK(wrong == 0);
      CHECK(summed.all_once());
      CHECK(parted.all_once());
      double pixels = 0;
      for (const Sums& block : sums) pixels += block.first[0];
      CHECK(pixels == static_cast<double>(image.batch * planes.blocks * planes.pixels));
      Visits written(planes, image.batch);
      order.write([&](auto /*vector*/, const Tile& tile) { written.add(tile); });
      CHECK(written.all_once());
    }
}
