#pragma once

#include "kernels/optimizer.h"

namespace ptbench {

/// PyTorch's SGD, Adam and AdamW, one element after another. Each step computes in double and
/// rounds parameters and state to float once.
class ReferenceOptimizer final : public Optimizer {
 public:
  /// The arenas outlive the optimizer. Broken invariant if their lengths or their number differ
  /// from what `spec` needs.
  ReferenceOptimizer(const OptimizerSpec& spec, const OptimizerArenas& arenas);

  void step(Range slice, Size step, float gradient_scale = 1) override;

 private:
  void sgd(std::size_t element, double gradient);
  void adam(std::size_t element, double gradient, double correction1, double correction2);

  OptimizerSpec spec_;
  OptimizerArenas arenas_;
};

}  // namespace ptbench
