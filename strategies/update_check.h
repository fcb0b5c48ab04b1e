#pragma once

#include <string>

#include "strategies/strategy.h"

namespace ptbench {

/// How far a compared quantity was from what it should be.
struct Difference {
  double share = 0;    ///< of its bound; above 1 it does not match. Infinite where no number
  std::string tensor;  ///< where
  std::string what;    ///< of the tensor: "gradient", "parameters", "optimizer state 1"

  /// Becomes the other one where that is worse; a value that is not a number is worst.
  void keep_worse(double other, const std::string& in, const std::string& of);
};

/// What one update did, against the rule.
struct UpdateCheck {
  Difference worst;
  double update_norm = 0;     ///< ‖p after − p before‖ of the whole model, by the rule
  double parameter_norm = 0;  ///< ‖p before‖
};

/// Holds an update that `tested` made against the reference rule of its optimizer, applied to its
/// own gradient from the state that `before` still has. In a tensor of norm ‖u‖ of the rule's
/// update, each parameter may differ by 1e-6·‖u‖ + 2 ulp, and optimizer state by as much of its own
/// norm; the ulps are those of the largest term that is added up.
/// `optimizer`: the rule; `update`: the number of the update, from 1; `gradient_scale`: what the
/// tested gradients have to be multiplied by.
[[nodiscard]] UpdateCheck check_update(Strategy& before, Strategy& tested,
                                       const OptimizerSpec& optimizer, Size update,
                                       double gradient_scale);

/// After a step that was skipped: `tested` has the parameters, optimizer state and number of
/// updates of `before`, bit by bit.
[[nodiscard]] Difference check_nothing_changed(Strategy& before, Strategy& tested);

}  // namespace ptbench
