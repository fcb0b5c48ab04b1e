#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "kernels/reference/batch_norm.h"
#include "kernels/reference/conv2d.h"
#include "kernels/reference/implementation.h"
#include "kernels/reference/linear.h"
#include "src/base/error.h"

// Operators with parameters, which lie row-major, one tensor after the other.
namespace ptbench::reference {

/// The first tensor of an arena and the second, which may be absent; the rest is padding.
template <class U>
struct Halves {
  std::span<U> weight;
  std::span<U> bias;
  std::span<U> padding;
};
template <class U>
[[nodiscard]] Halves<U> halves_of(std::span<U> arena, Size weights, Size biases) {
  const auto first = static_cast<std::size_t>(weights);
  const auto second = static_cast<std::size_t>(biases);
  return {arena.first(first), arena.subspan(first, second), arena.subspan(first + second)};
}

template <class T>
class LinearOperator final : public Operator {
 public:
  LinearOperator(const LinearSpec& spec, const Bindings& bound)
      : spec_(spec),
        bound_(bound),
        parameters_(halves_of(bound.parameters, spec.outputs * spec.inputs, spec.outputs)),
        gradients_(halves_of(bound.gradients, spec.outputs * spec.inputs, spec.outputs)) {}

  void forward() override {
    linear_forward<T>(spec_, input_of<T>(bound_), parameters_.weight, parameters_.bias,
                      elements<T>(bound_.output));
  }

  void backward(GradientMode mode) override {
    linear_backward<T>(spec_, input_of<T>(bound_), parameters_.weight, elements<T>(bound_.output),
                       output_gradient_of<T>(bound_),
                       {gradients_.weight, gradients_.bias, input_gradient_of<T>(bound_), mode});
    std::ranges::fill(gradients_.padding, 0.0F);
  }

 private:
  LinearSpec spec_;
  Bindings bound_;
  Halves<const float> parameters_;
  Halves<float> gradients_;
};

template <>
struct Implementation<LinearSpec> : NoMemory, NothingToCheck {
  static std::unique_ptr<Operator> make(const LinearSpec& spec, const Bindings& bound) {
    return make_typed<LinearOperator>(spec.type, spec, bound);
  }
};

template <class T>
class Conv2dOperator final : public Operator {
 public:
  Conv2dOperator(const Conv2dSpec& spec, const Bindings& bound)
      : spec_(spec),
        bound_(bound),
        parameters_(halves(bound.parameters)),
        gradients_(halves(bound.gradients)) {}

  void forward() override {
    conv2d_forward<T>(spec_, input_of<T>(bound_),
                      spec_.add ? input_of<T>(bound_, 1) : std::span<const T>(), parameters_.weight,
                      parameters_.bias, elements<T>(bound_.output));
  }

  void backward(GradientMode mode) override {
    const auto open_to = [&](std::span<T> to) {
      conv2d_open_gradient<T>(spec_, elements<T>(bound_.output), output_gradient_of<T>(bound_), to);
    };
    const std::span<T> open = elements<T>(bound_.scratch);
    open_to(open);
    open_to(input_gradient_of<T>(bound_, 1));
    conv2d_backward<T>(spec_, input_of<T>(bound_), parameters_.weight,
                       spec_.relu ? open : output_gradient_of<T>(bound_),
                       {gradients_.weight, gradients_.bias, input_gradient_of<T>(bound_), mode});
    std::ranges::fill(gradients_.padding, 0.0F);
  }

 private:
  template <class U>
  [[nodiscard]] Halves<U> halves(std::span<U> arena) const {
    return halves_of(arena, weight_shape(spec_).elements(), spec_.bias ? spec_.outputs : 0);
  }

  Conv2dSpec spec_;
  Bindings bound_;
  Halves<const float> parameters_;
  Halves<float> gradients_;
};

template <>
struct Implementation<Conv2dSpec> {
  /// The gradient in front of a rectifier.
  static OperatorMemory memory(const Conv2dSpec& spec) {
    const auto elements = static_cast<Bytes>(spec.relu ? spec.output().elements() : 0);
    return {.scratch = elements * bytes_of(spec.type)};
  }
  static void check(const Conv2dSpec& spec) {
    ensure(spec.bias || (!spec.add && !spec.relu), "a convolution that goes on has a bias");
  }
  static std::unique_ptr<Operator> make(const Conv2dSpec& spec, const Bindings& bound) {
    return make_typed<Conv2dOperator>(spec.type, spec, bound);
  }
};

/// The saved memory keeps the statistics that forward normalised with.
template <class T>
class BatchNormOperator final : public Operator {
 public:
  BatchNormOperator(const BatchNormSpec& spec, const Bindings& bound)
      : spec_(spec),
        bound_(bound),
        parameters_(halves(bound.parameters)),
        gradients_(halves(bound.gradients)),
        running_(halves(bound.buffers)),
        statistics_(halves(elements<float>(bound.saved))) {}

  void forward() override {
    batch_norm_statistics<T>(spec_, input_of<T>(bound_), {statistics_.weight, statistics_.bias},
                             {running_.weight, running_.bias});
    normalise();
  }

  void evaluate() override {
    statistics_of_buffers<float>({running_.weight, running_.bias},
                                 {statistics_.weight, statistics_.bias});
    normalise();
  }

  void backward(GradientMode mode) override {
    BatchNormBackward<T> from{.input = input_of<T>(bound_),
                              .weight = parameters_.weight,
                              .statistics = {statistics_.weight, statistics_.bias},
                              .output = elements<T>(bound_.output)};
    for (std::size_t i = 0; i < bound_.output_gradients.size(); ++i)
      from.output_gradients.push_back(output_gradient_of<T>(bound_, i));
    batch_norm_backward<T>(spec_, from,
                           {gradients_.weight, gradients_.bias, input_gradient_of<T>(bound_),
                            input_gradient_of<T>(bound_, 1), mode});
    std::ranges::fill(gradients_.padding, 0.0F);
  }

 private:
  template <class U>
  [[nodiscard]] Halves<U> halves(std::span<U> arena) const {
    return halves_of(arena, spec_.input.channels, spec_.input.channels);
  }

  void normalise() {
    batch_norm_forward<T>(spec_, input_of<T>(bound_),
                          spec_.add ? input_of<T>(bound_, 1) : std::span<const T>(),
                          {parameters_.weight, parameters_.bias},
                          {statistics_.weight, statistics_.bias}, elements<T>(bound_.output));
  }

  BatchNormSpec spec_;
  Bindings bound_;
  Halves<const float> parameters_;
  Halves<float> gradients_;
  Halves<float> running_;     ///< mean and variance
  Halves<float> statistics_;  ///< mean and inverse deviation
};

template <>
struct Implementation<BatchNormSpec> {
  static OperatorMemory memory(const BatchNormSpec& spec) {
    return {.saved = 2 * sizeof(float) * static_cast<Bytes>(spec.input.channels)};
  }
  static void check(const BatchNormSpec& spec) {
    ensure(spec.gradient_terms <= 2, "a batch norm adds up at most two gradients");
  }
  static std::unique_ptr<Operator> make(const BatchNormSpec& spec, const Bindings& bound) {
    return make_typed<BatchNormOperator>(spec.type, spec, bound);
  }
};

}  // namespace ptbench::reference
