// What every backend's passes over an arena promise: any slice, whoever owns it, and not
// one element more.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "src/base/random.h"
#include "tests/support/backends.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/operator_harness.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

constexpr Size kArenaElements = 1013;  // prime: no slice or share is a whole number of vectors
constexpr std::array<Range, 7> kArenaSlices{
    {{0, 0}, {0, 7}, {7, 7}, {7, 640}, {640, 641}, {641, kArenaElements}, {0, kArenaElements}}};

std::vector<OwnedRange> arena_ranges(int threads) {
  constexpr std::array<Size, 6> cuts{0, 1, 16, 129, 500, kArenaElements};
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
      : gradients(static_cast<std::size_t>(kArenaElements)),
        passes(backend.plan_arena_passes(gradients.span(), arena_ranges(threads))) {
    std::ranges::copy(draw(kArenaElements, 1), gradients.span().begin());
  }

  void add(Range slice, std::span<const float> terms) const {
    passes->add(slice, std::span(&terms, 1));
  }
  [[nodiscard]] bool finite(Range slice) const { return finite(std::span(&slice, 1)); }
  [[nodiscard]] bool finite(std::span<const Range> slices) const {
    float found = -1;
    passes->find_non_finite(slices, std::span(&found, 1));
    REQUIRE((found == 0 || found == 1));
    return found == 0;
  }

  GuardedBuffer<float> gradients;
  std::unique_ptr<ArenaPasses> passes;
};

}  // namespace

TEST_CASE("passes assign and add to a slice and to nothing else") {
  for_each_backend([](const KernelBackend& backend, int threads) {
    Arena arena(backend, threads);
    for (const Range slice : kArenaSlices) {
      INFO("slice " << slice.begin << " to " << slice.end);
      const std::vector<float> terms = draw(slice.size(), 2);
      std::vector<float> expected(arena.gradients.span().begin(), arena.gradients.span().end());
      const auto part =
          std::span(expected).subspan(static_cast<std::size_t>(slice.begin), terms.size());
      for (std::size_t i = 0; i < terms.size(); ++i) part[i] += terms[i];
      arena.add(slice, terms);
      CHECK(same_bits(arena.gradients.span(), expected));
      std::ranges::copy(terms, part.begin());
      arena.passes->assign(slice, terms);
      CHECK(same_bits(arena.gradients.span(), expected));
    }
    CHECK(arena.gradients.intact());
  });
}

TEST_CASE("one value that is not finite is found wherever it is, in its slice only") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for_each_backend([](const KernelBackend& backend, int threads) {
    Arena arena(backend, threads);
    const std::span<float> gradients = arena.gradients.span();
    CHECK(arena.finite({0, kArenaElements}));
    CHECK(arena.finite({5, 5}));
    gradients[3] = std::numeric_limits<float>::max();
    gradients[4] = std::numeric_limits<float>::denorm_min();
    CHECK(arena.finite({0, kArenaElements}));
    bool found = true;
    bool elsewhere = false;
    for (Size i = 0; i < kArenaElements; i += 11) {  // comes by every place of a vector
      float& gradient = gradients[static_cast<std::size_t>(i)];
      const float kept = gradient;
      gradient = std::array{kNan, kInfinity, -kInfinity}.at(static_cast<std::size_t>(i % 3));
      found = found && !arena.finite({0, kArenaElements}) && !arena.finite({i, i + 1});
      elsewhere = elsewhere || !arena.finite({0, i}) || !arena.finite({i + 1, kArenaElements});
      gradient = kept;
    }
    CHECK(found);
    CHECK_FALSE(elsewhere);
    for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
      gradients[500] = bad;
      CHECK_FALSE(arena.finite({0, kArenaElements}));
    }
    // Two infinities of opposite signs must not cancel into something finite.
    gradients[500] = kInfinity;
    gradients[501] = -kInfinity;
    CHECK_FALSE(arena.finite({0, kArenaElements}));
    CHECK(arena.finite({502, kArenaElements}));
  });
}

TEST_CASE("several terms are added in their order, and slices are searched together") {
  for_each_backend([](const KernelBackend& backend, int threads) {
    Arena arena(backend, threads);
    const std::span<float> gradients = arena.gradients.span();
    const Range slice{3, kArenaElements - 2};
    const std::vector<std::vector<float>> terms{draw(slice.size(), 4), draw(slice.size(), 5),
                                                draw(slice.size(), 6)};
    std::vector<float> expected(gradients.begin(), gradients.end());
    for (std::size_t i = 0; i < terms[0].size(); ++i)
      expected[i + 3] = ((expected[i + 3] + terms[0][i]) + terms[1][i]) + terms[2][i];
    const std::vector<std::span<const float>> views(terms.begin(), terms.end());
    arena.passes->add(slice, views);
    CHECK(same_bits(gradients, expected));
    gradients[700] = std::numeric_limits<float>::quiet_NaN();
    const std::array<Range, 2> around{{{0, 700}, {701, kArenaElements}}};
    const std::array<Range, 2> across{{{0, 100}, {690, 710}}};
    CHECK(arena.finite(around));
    CHECK_FALSE(arena.finite(across));
    CHECK(arena.finite(std::span<const Range>()));
  });
}

TEST_CASE("infinities and NaN survive assigning and adding") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_each_backend([&](const KernelBackend& backend, int threads) {
    Arena arena(backend, threads);
    std::vector<float> terms(20, 1.0F);
    terms[7] = kInfinity;
    arena.passes->assign({100, 120}, terms);
    CHECK(arena.gradients.span()[107] == kInfinity);
    terms[7] = -kInfinity;
    arena.add({100, 120}, terms);
    CHECK(std::isnan(arena.gradients.span()[107]));
    CHECK_FALSE(arena.finite({0, kArenaElements}));
  });
}

TEST_CASE("all terms are added up, however many they are") {
  for_each_backend([](const KernelBackend& backend, int threads) {
    const Arena arena(backend, threads);
    // A GPU adds them up with 256 threads.
    for (const Size count : {1, 2, 7, 255, 256, 257, 258, 259, 512, 1013}) {
      CAPTURE(count);
      const std::vector<float> terms = draw(count, 7);
      double expected = 0;
      for (const float term : terms) expected += double{term};
      float sum = -1;
      arena.passes->add_up(terms, std::span(&sum, 1));
      CHECK(std::abs(double{sum} - expected) <= 1e-6 * std::max(1.0, std::abs(expected)));
      // Each one counts.
      std::vector<float> last(terms.size());
      last.back() = 3;
      arena.passes->add_up(last, std::span(&sum, 1));
      CHECK(sum == 3);
    }
  });
}
