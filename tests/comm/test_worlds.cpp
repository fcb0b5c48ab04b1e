#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/comm/communicator_factories.h"
#include "tests/comm/contract_values.h"

namespace ptbench::testing {

/// Of sums in bf16, and of values that are scaled before they are added, each rank rounds its own.
bool TestWorld::agrees(std::span<const float> found, std::span<const float> expected,
                       Reduction reduction) const {
  const bool is_narrow = reduction.wire == WireType::bf16;
  if (found.size() != expected.size()) return false;
  const bool is_exact = factory.scales_sums || (reduction.scale == 1 && !is_narrow);
  if (is_exact && (factory.sums_in_rank_order || size <= 2 || is_narrow))
    return found.empty() || std::memcmp(found.data(), expected.data(), found.size_bytes()) == 0;
  const float most = kLargestValue * static_cast<float>(size) * std::abs(reduction.scale);
  const float bound = most * (is_narrow ? 0x1p-7F : 0x1p-22F);
  return std::ranges::equal(found, expected, [bound](float left, float right) {
    return std::abs(left - right) <= bound;
  });
}

std::vector<TestWorld> test_worlds() {
  std::vector<TestWorld> worlds;
  for (const CommunicatorFactory& factory : communicator_factories())
    for (const Size size : factory.world_sizes) worlds.push_back({factory, size});
  return worlds;
}

}  // namespace ptbench::testing
