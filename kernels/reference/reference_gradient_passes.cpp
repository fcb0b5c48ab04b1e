#include "kernels/reference/reference_gradient_passes.h"

#include <algorithm>
#include <cmath>

#include "src/base/error.h"

namespace ptbench {

std::span<float> ReferenceGradientPasses::part(Range slice) const {
  if (slice.empty()) return {};
  ensure(slice.begin >= 0 && slice.end <= static_cast<Size>(gradients_.size()),
         "a slice lies in the arena");
  return gradients_.subspan(static_cast<std::size_t>(slice.begin),
                            static_cast<std::size_t>(slice.size()));
}

void ReferenceGradientPasses::assign(Range slice, std::span<const float> terms) {
  const std::span<float> gradients = part(slice);
  ensure(gradients.size() == terms.size(), "terms are as long as their slice");
  std::ranges::copy(terms, gradients.begin());
}

void ReferenceGradientPasses::add(Range slice, std::span<const float> terms) {
  const std::span<float> gradients = part(slice);
  ensure(gradients.size() == terms.size(), "terms are as long as their slice");
  for (std::size_t i = 0; i < terms.size(); ++i) gradients[i] += terms[i];
}

bool ReferenceGradientPasses::finite(Range slice) {
  return std::ranges::all_of(part(slice), [](float value) { return std::isfinite(value); });
}

}  // namespace ptbench
