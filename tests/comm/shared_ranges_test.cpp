#include "src/comm/shm/shared_ranges.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace ptbench {
namespace {

using shared::TakenRanges;

TEST_CASE("ranges are taken where they first fit, aligned", "[comm]") {
  TakenRanges<8> taken;
  CHECK(taken.take(10, 1, 100) == Bytes{0});
  CHECK(taken.take(10, 16, 100) == Bytes{16});
  CHECK(taken.take(6, 1, 100) == Bytes{10});
  CHECK(taken.take(74, 1, 100) == Bytes{26});
  CHECK(taken.bytes() == 100);
  CHECK_FALSE(taken.take(1, 1, 100));
  taken.give_back(16);
  CHECK_FALSE(taken.take(11, 1, 100));
  CHECK(taken.take(10, 1, 100) == Bytes{16});
}

TEST_CASE("a range that is longer than can be is not taken", "[comm]") {
  TakenRanges<8> taken;
  CHECK(taken.take(64, 64, 128) == Bytes{0});
  CHECK_FALSE(taken.take(~Bytes{0}, 64, 128));
  CHECK_FALSE(taken.take(65, 64, 128));
  CHECK_FALSE(taken.take(1, 256, 128));
  CHECK(taken.take(64, 64, 128) == Bytes{64});
}

TEST_CASE("no more ranges are taken than can be counted", "[comm]") {
  TakenRanges<2> taken;
  CHECK(taken.take(1, 1, 100) == Bytes{0});
  CHECK(taken.take(1, 1, 100) == Bytes{1});
  CHECK(taken.is_full());
  CHECK_FALSE(taken.take(1, 1, 100));
  taken.give_back(0);
  CHECK(taken.take(1, 1, 100) == Bytes{0});
}

TEST_CASE("what was not taken cannot be given back", "[comm]") {
  TakenRanges<4> taken;
  CHECK_THROWS_AS(taken.give_back(0), Defect);
  CHECK(taken.take(10, 1, 100) == Bytes{0});
  CHECK_THROWS_AS(taken.give_back(5), Defect);
}

TEST_CASE("ranges that are taken and given back at random never overlap", "[comm]") {
  constexpr Bytes kArea = 1000;
  std::mt19937 random(5);
  TakenRanges<32> taken;
  std::vector<Range> live;
  for (int turn = 0; turn < 20'000; ++turn) {
    if (random() % 2 == 0 && !live.empty()) {
      const auto at = live.begin() + static_cast<std::ptrdiff_t>(random() % live.size());
      taken.give_back(static_cast<Bytes>(at->begin));
      live.erase(at);
      continue;
    }
    const Bytes length = random() % 99 + 1;
    const auto begin = taken.take(length, Bytes{1} << random() % 4, kArea);
    if (!begin) continue;
    const Range range{static_cast<Size>(*begin), static_cast<Size>(*begin + length)};
    REQUIRE(range.end <= static_cast<Size>(kArea));
    REQUIRE(std::ranges::all_of(
        live, [&](const Range& other) { return intersect(range, other).empty(); }));
    live.push_back(range);
  }
}

}  // namespace
}  // namespace ptbench
