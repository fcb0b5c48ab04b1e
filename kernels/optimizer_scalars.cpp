#include "kernels/optimizer_scalars.h"

#include <cmath>

namespace ptbench {

OptimizerScalars scalars_of(const OptimizerSpec& spec, Size step, float gradient_scale) {
  OptimizerScalars s;
  s.gradient_scale = gradient_scale;
  s.lr = static_cast<float>(spec.lr);
  s.momentum = static_cast<float>(spec.momentum);
  const bool decoupled = spec.kind == OptimizerKind::adamw;
  s.weight_decay = decoupled ? 0.0F : static_cast<float>(spec.weight_decay);
  if (spec.kind == OptimizerKind::sgd) return s;
  s.keep = decoupled ? static_cast<float>(1 - spec.lr * spec.weight_decay) : 1.0F;
  s.beta1 = static_cast<float>(spec.beta1);
  s.beta2 = static_cast<float>(spec.beta2);
  s.fresh1 = static_cast<float>(1 - spec.beta1);
  s.fresh2 = static_cast<float>(1 - spec.beta2);
  s.epsilon = static_cast<float>(spec.epsilon);
  const auto t = static_cast<double>(step);
  s.step_size = static_cast<float>(spec.lr / (1 - std::pow(spec.beta1, t)));
  s.root_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(spec.beta2, t)));
  return s;
}

}  // namespace ptbench
