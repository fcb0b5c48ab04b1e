#include "strategies/loss_scaling.h"

#include <fmt/format.h>

#include "src/base/error.h"

namespace ptbench {

LossScaler::LossScaler(const LossScaleSpec& spec) : spec_(spec) {
  switch (spec.kind) {
    case LossScaling::none: break;
    case LossScaling::fixed: scale_ = spec.value; break;
    case LossScaling::dynamic: scale_ = kFirstScale; break;
  }
}

void LossScaler::update(bool finite) {
  if (!finite) ++skipped_;
  if (spec_.kind != LossScaling::dynamic) {
    if (!finite)
      throw run_error(fmt::format("gradients are not finite at a loss scale of {}", scale_),
                      "use --loss-scale dynamic, or choose a smaller --lr");
    return;
  }
  if (!finite) {
    finite_steps_ = 0;
    scale_ *= kBackoff;
    if (scale_ < kLeastScale)
      throw run_error("gradients are not finite at any loss scale: training has diverged",
                      "choose a smaller --lr");
    return;
  }
  if (++finite_steps_ < kGrowthInterval) return;
  finite_steps_ = 0;
  // Beyond this, growing could only overflow.
  constexpr float kMostScale = 0x1p100F;
  if (scale_ < kMostScale) scale_ *= kGrowth;
}

}  // namespace ptbench
