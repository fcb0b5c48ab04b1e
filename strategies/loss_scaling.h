#pragma once

#include <cstdint>

#include "src/base/size.h"

namespace ptbench {

enum class LossScaling : std::uint8_t { none, fixed, dynamic };

/// How gradients are kept from underflowing in a narrow type.
struct LossScaleSpec {
  LossScaling kind = LossScaling::none;
  float value = 1;  ///< fixed: the scale, a power of two keeps every bit
  friend bool operator==(const LossScaleSpec&, const LossScaleSpec&) = default;
};

/// The scale of the loss from step to step. Dynamic: as torch.amp.GradScaler (Micikevicius et al.,
/// "Mixed precision training", 2018): starts at 65536, halves when gradients are not finite (that
/// step is skipped), doubles after 2000 finite steps in a row.
class LossScaler {
 public:
  static constexpr float kFirstScale = 65536;
  static constexpr float kGrowth = 2;
  static constexpr float kBackoff = 0.5;
  static constexpr Size kGrowthInterval = 2000;
  /// Below this, gradients are not finite whatever the scale: training has diverged.
  static constexpr float kLeastScale = 1.0F / 1024;

  explicit LossScaler(const LossScaleSpec& spec);

  /// Whether updates must wait for a look at all gradients.
  [[nodiscard]] bool active() const { return spec_.kind != LossScaling::none; }
  [[nodiscard]] float scale() const { return scale_; }
  /// Optimizer steps that were skipped.
  [[nodiscard]] Size skipped() const { return skipped_; }
  /// After each step: whether its gradients were finite. Throws a run error where no smaller scale
  /// would help.
  void update(bool finite);
  /// What it holds decides the scales to come.
  friend bool operator==(const LossScaler&, const LossScaler&) = default;

 private:
  LossScaleSpec spec_;
  float scale_ = 1;
  Size finite_steps_ = 0;
  Size skipped_ = 0;
};

}  // namespace ptbench
