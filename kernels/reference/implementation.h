#pragma once

#include <memory>
#include <span>

#include "kernels/operator.h"
#include "kernels/reference/arithmetic.h"

namespace ptbench::reference {

/// Memory that an operator keeps from forward to backward, and within one call.
struct OperatorMemory {
  Bytes saved = 0;
  Bytes scratch = 0;
};

/// How one kind of operator is computed: memory(spec), check(spec), which throws a broken invariant
/// where numbers contradict each other, and make(spec, bindings). An operator that leaves one out
/// does not compile; what it has none of, it says by a base.
template <class Spec>
struct Implementation;

struct NoMemory {
  static OperatorMemory memory(const auto& /*spec*/) { return {}; }
};
struct NothingToCheck {
  static void check(const auto& /*spec*/) {}
};

/// Made<T> on activations of type T.
template <template <class> class Made, class Spec>
[[nodiscard]] std::unique_ptr<Operator> make_typed(ElementType type, const Spec& spec,
                                                   const Bindings& bound) {
  return with_element(type, [&]<class T>(T) -> std::unique_ptr<Operator> {
    return std::make_unique<Made<T>>(spec, bound);
  });
}

// Bound memory as elements. Empty where nobody needs a gradient.

template <class T>
[[nodiscard]] std::span<const T> input_of(const Bindings& bound, std::size_t index = 0) {
  return elements<T>(bound.inputs[index]);
}
template <class T>
[[nodiscard]] std::span<const T> output_gradient_of(const Bindings& bound, std::size_t index = 0) {
  return elements<T>(bound.output_gradients[index]);
}
template <class T>
[[nodiscard]] std::span<T> input_gradient_of(const Bindings& bound, std::size_t index = 0) {
  return index < bound.input_gradients.size() ? elements<T>(bound.input_gradients[index])
                                              : std::span<T>();
}

}  // namespace ptbench::reference
