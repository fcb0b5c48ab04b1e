#pragma once

#include <span>

#include "kernels/gradient_passes.h"

namespace ptbench {

/// One element after another.
class ReferenceGradientPasses final : public GradientPasses {
 public:
  /// The arena outlives the passes.
  explicit ReferenceGradientPasses(std::span<float> gradients) : gradients_(gradients) {}

  [[nodiscard]] bool finite(Range slice) override;

 private:
  [[nodiscard]] std::span<float> part(Range slice) const;

  std::span<float> gradients_;
};

}  // namespace ptbench
