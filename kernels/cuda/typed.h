#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/cuda/operators.h"

namespace ptbench::cuda {

/// Made<T> of `arguments`, on activations of type T: float, Bf16 or F16.
template <template <class> class Made, class... Arguments>
[[nodiscard]] std::unique_ptr<Operator> make_typed(ElementType type,
                                                   const Arguments&... arguments) {
  return with_element(type, [&]<class T>(T) -> std::unique_ptr<Operator> {
    return std::make_unique<Made<T>>(arguments...);
  });
}

/// The plan of an operator that has neither parameters nor memory of its own: Made<T>(site,
/// bindings) on activations of type T.
template <template <class> class Made>
class PlainPlan final : public OperatorPlan {
 public:
  PlainPlan(std::string description, ElementType type, const OperatorSite& site)
      : description_(std::move(description)), type_(type), site_(site) {}

  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return make_typed<Made>(type_, site_, bindings);
  }

 private:
  std::string description_;
  ElementType type_;
  OperatorSite site_;
};

}  // namespace ptbench::cuda
