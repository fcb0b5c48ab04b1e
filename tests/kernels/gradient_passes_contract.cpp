// What every backend's passes over a gradient arena promise: any slice, whoever owns it, and not
// one element more.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "src/base/random.h"
#include "tests/support/backends.h"
#include "tests/support/guarded_buffer.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

constexpr Size kElements = 1013;  // prime: no slice or share is a whole number of vectors
std::vector<OwnedRange> owned_ranges(int threads) {
  constexpr std::array<Size, 6> cuts{0, 1, 16, 129, 500, kElements};
  std::vector<OwnedRange> owned;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    owned.push_back({{cuts[i], cuts[i + 1]}, static_cast<int>(i) % threads});
  return owned;
}

std::vector<float> draw(Size elements, std::uint64_t stream) {
  const CounterRandom random(3, stream);
  std::vector<float> values;
  for (Size i = 0; i < elements; ++i)
    values.push_back(random.uniform(static_cast<std::uint64_t>(i), -1, 1));
  return values;
}

/// An arena with canaries round it, and passes over it.
struct Arena {
  explicit Arena(const KernelBackend& backend, int threads)
      : gradients(static_cast<std::size_t>(kElements)),
        passes(backend.plan_gradient_passes(gradients.span(), owned_ranges(threads))) {
    std::ranges::copy(draw(kElements, 1), gradients.span().begin());
  }

  GuardedBuffer<float> gradients;
  std::unique_ptr<GradientPasses> passes;
};

}  // namespace

TEST_CASE("one value that is not finite is found wherever it is, in its slice only") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for_each_backend([](const KernelBackend& backend, int threads) {
    Arena arena(backend, threads);
    const std::span<float> gradients = arena.gradients.span();
    CHECK(arena.passes->finite({0, kElements}));
    CHECK(arena.passes->finite({5, 5}));
    gradients[3] = std::numeric_limits<float>::max();
    gradients[4] = std::numeric_limits<float>::denorm_min();
    CHECK(arena.passes->finite({0, kElements}));
    bool found = true;
    bool elsewhere = false;
    for (Size i = 0; i < kElements; i += 11) {  // comes by every place of a vector
      float& gradient = gradients[static_cast<std::size_t>(i)];
      const float kept = gradient;
      gradient = std::array{kNan, kInfinity, -kInfinity}.at(static_cast<std::size_t>(i % 3));
      found = found && !arena.passes->finite({0, kElements}) && !arena.passes->finite({i, i + 1});
      elsewhere =
          elsewhere || !arena.passes->finite({0, i}) || !arena.passes->finite({i + 1, kElements});
      gradient = kept;
    }
    CHECK(found);
    CHECK_FALSE(elsewhere);
    for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
      gradients[500] = bad;
      CHECK_FALSE(arena.passes->finite({0, kElements}));
    }
    // Two infinities of opposite signs must not cancel into something finite.
    gradients[500] = kInfinity;
    gradients[501] = -kInfinity;
    CHECK_FALSE(arena.passes->finite({0, kElements}));
    CHECK(arena.passes->finite({502, kElements}));
  });
}
