#include "workloads/placement.h"

#include <algorithm>
#include <numeric>

namespace ptbench {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

Placement place(std::span<const Lifetime> pieces, Bytes alignment) {
  const auto aligned = [&](Bytes bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Of equal pieces the first comes first: the same placement everywhere.
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return pieces[a].bytes != pieces[b].bytes ? pieces[a].bytes > pieces[b].bytes : a < b;
  });
  Placement placement{.offsets = std::vector<Bytes>(pieces.size(), 0), .total = 0};
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t piece : order) {
    Bytes offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(pieces[piece], pieces[other])) continue;
      if (placement.offsets[other] >= offset + pieces[piece].bytes) break;
      offset = std::max(offset, placement.offsets[other] + aligned(pieces[other].bytes));
    }
    placement.offsets[piece] = offset;
    placement.total = std::max(placement.total, offset + aligned(pieces[piece].bytes));
    const auto behind = std::ranges::upper_bound(
        placed, offset, {}, [&](std::size_t i) { return placement.offsets[i]; });
    placed.insert(behind, piece);
  }
  return placement;
}

}  // namespace ptbench
