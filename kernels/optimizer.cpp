#include "kernels/optimizer.h"

#include "src/base/error.h"

namespace ptbench {

std::string name_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd: return "sgd";
    case OptimizerKind::adam: return "adam";
    case OptimizerKind::adamw: return "adamw";
  }
  return "unknown";
}

OptimizerSpec OptimizerSpec::defaults_of(OptimizerKind kind) {
  OptimizerSpec spec;
  spec.kind = kind;
  spec.lr = 1e-3;
  spec.weight_decay = kind == OptimizerKind::adamw ? 1e-2 : 0.0;
  return spec;
}

void Optimizer::step_by(std::span<const float> /*gradients*/, Range /*slice*/, Size /*step*/) {
  ensure(false, "optimizers that take gradients from elsewhere are asked to");
}

void Optimizer::update_piece(std::span<const float> /*gradients*/, Range /*piece*/, Size /*step*/) {
  ensure(false, "optimizers that take pieces are asked to");
}

void Optimizer::step_in(Queue& /*queue*/, Range /*slice*/, Size /*step*/,
                        float /*gradient_scale*/) {
  ensure(false, "optimizers of devices that have a queue beside the one for computing use it");
}

int OptimizerSpec::state_arenas() const {
  if (kind != OptimizerKind::sgd) return 2;
  return momentum != 0 ? 1 : 0;
}

}  // namespace ptbench
