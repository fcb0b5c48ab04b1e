#include "kernels/reference/reference_arena_passes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/error.h"

namespace ptbench {

std::span<float> ReferenceArenaPasses::part(Range slice) const {
  if (slice.empty()) return {};
  ensure(slice.begin >= 0 && slice.end <= static_cast<Size>(arena_.size()),
         "a slice lies in the arena");
  return arena_.subspan(static_cast<std::size_t>(slice.begin),
                        static_cast<std::size_t>(slice.size()));
}

void ReferenceArenaPasses::assign(Range slice, std::span<const float> terms) {
  const std::span<float> values = part(slice);
  ensure(values.size() == terms.size(), "terms are as long as their slice");
  std::ranges::copy(terms, values.begin());
}

void ReferenceArenaPasses::add(Range slice, std::span<const std::span<const float>> terms) {
  const std::span<float> sums = part(slice);
  for (const std::span<const float> term : terms) {
    ensure(sums.size() == term.size(), "terms are as long as their slice");
    for (std::size_t i = 0; i < term.size(); ++i) sums[i] += term[i];
  }
}

void ReferenceArenaPasses::find_non_finite(std::span<const Range> slices, std::span<float> found) {
  const bool finite = std::ranges::all_of(slices, [this](Range slice) {
    return std::ranges::all_of(part(slice), [](float value) { return std::isfinite(value); });
  });
  found.front() = finite ? 0.0F : 1.0F;
}

void ReferenceArenaPasses::add_up(std::span<const float> terms, std::span<float> sum) {
  sum.front() = static_cast<float>(std::accumulate(terms.begin(), terms.end(), 0.0));
}

}  // namespace ptbench
