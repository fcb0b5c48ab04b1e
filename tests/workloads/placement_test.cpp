#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "src/base/random.h"
#include "workloads/memory.h"

namespace ptbench {
namespace {

/// The most that is alive at one moment: no placement can do with less.
Bytes least_possible(const std::vector<Lifetime>& pieces) {
  Bytes most = 0;
  for (const Lifetime& at : pieces) {
    Bytes alive = 0;
    for (const Lifetime& piece : pieces)
      if (piece.first <= at.first && at.first <= piece.last) alive += piece.bytes;
    most = std::max(most, alive);
  }
  return most;
}

void check_apart(const std::vector<Lifetime>& pieces, const Placement& placement) {
  for (std::size_t a = 0; a < pieces.size(); ++a) {
    CHECK(placement.offsets[a] + pieces[a].bytes <= placement.total);
    for (std::size_t b = 0; b < a; ++b) {
      const bool same_time = pieces[a].first <= pieces[b].last && pieces[b].first <= pieces[a].last;
      const bool same_place = placement.offsets[a] < placement.offsets[b] + pieces[b].bytes &&
                              placement.offsets[b] < placement.offsets[a] + pieces[a].bytes;
      CAPTURE(a, b);
      CHECK_FALSE((same_time && same_place));
    }
  }
}

TEST_CASE("pieces share memory only when their times are apart", "[workloads]") {
  const std::vector<Lifetime> pieces{{.bytes = 100, .first = 0, .last = 1},
                                     {.bytes = 100, .first = 2, .last = 3},
                                     {.bytes = 50, .first = 1, .last = 2}};
  const Placement placement = place(pieces, 1);
  check_apart(pieces, placement);
  CHECK(placement.offsets[0] == placement.offsets[1]);
  CHECK(placement.total == 150);
}

TEST_CASE("offsets are aligned, empty pieces cost nothing", "[workloads]") {
  const std::vector<Lifetime> pieces{{.bytes = 1, .first = 0, .last = 0},
                                     {.bytes = 0, .first = 0, .last = 0},
                                     {.bytes = 65, .first = 0, .last = 0}};
  const Placement placement = place(pieces, 64);
  check_apart(pieces, placement);
  for (const Bytes offset : placement.offsets) CHECK(offset % 64 == 0);
  CHECK(placement.total == 192);
  CHECK(place({}, 64).total == 0);
}

TEST_CASE("placements of training steps are close to the least possible", "[workloads]") {
  // Activations that live from a forward to a backward pass, and gradients in between.
  const CounterRandom random(1, 1);
  constexpr Size kOperators = 60;
  std::vector<Lifetime> pieces;
  for (Size op = 0; op < kOperators; ++op) {
    const auto bytes =
        static_cast<Bytes>(1000 * (1 + random.below(static_cast<std::uint64_t>(op), 16)));
    pieces.push_back({.bytes = bytes, .first = op, .last = 2 * kOperators - 1 - op});
    pieces.push_back({.bytes = bytes,
                      .first = std::max<Size>(0, 2 * kOperators - 2 - op),
                      .last = 2 * kOperators - 1 - op});
  }
  const Placement placement = place(pieces, 1);
  check_apart(pieces, placement);
  CHECK(static_cast<double>(placement.total) <= 1.1 * static_cast<double>(least_possible(pieces)));
}

}  // namespace
}  // namespace ptbench
