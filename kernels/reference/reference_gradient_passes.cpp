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

bool ReferenceGradientPasses::finite(Range slice) {
  return std::ranges::all_of(part(slice), [](float value) { return std::isfinite(value); });
}

}  // namespace ptbench
