#include "kernels/operator.h"

#include "src/base/error.h"

namespace ptbench {

void Operator::backward_and_update(bool /*keep_gradients*/, UpdatePiece /*update*/) {
  ensure(false, "operators that update in their backward pass are asked to");
}

void OperatorPlan::import_parameters(std::span<const std::span<const float>> tensors,
                                     std::span<float> /*arena*/) const {
  ensure(tensors.empty(), "this operator has no parameters");
}

void OperatorPlan::export_parameters(std::span<const float> /*arena*/,
                                     std::span<const std::span<float>> tensors) const {
  ensure(tensors.empty(), "this operator has no parameters");
}

}  // namespace ptbench
