#include "kernels/reference/operators.h"

#include <algorithm>
#include <utility>

#include "kernels/reference/activations.h"
#include "kernels/reference/batch_norm.h"
#include "kernels/reference/conv2d.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/pool.h"
#include "kernels/reference/softmax_cross_entropy.h"

namespace ptbench::reference {
namespace {

template <class T>
std::span<const T> input_of(const Bindings& bound, std::size_t index = 0) {
  return elements<T>(bound.inputs[index]);
}
template <class T>
std::span<const T> output_gradient_of(const Bindings& bound, std::size_t index = 0) {
  return elements<T>(bound.output_gradients[index]);
}
template <class T>
std::span<T> input_gradient_of(const Bindings& bound, std::size_t index = 0) {
  return index < bound.input_gradients.size() ? elements<T>(bound.input_gradients[index])
                                              : std::span<T>();
}

/// The first tensor of an arena and the second, which may be absent; the rest is padding.
template <class U>
struct Halves {
  std::span<U> weight;
  std::span<U> bias;
  std::span<U> padding;
};
template <class U>
Halves<U> halves_of(std::span<U> arena, Size weights, Size biases) {
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

  void backward() override {
    linear_backward<T>(spec_, input_of<T>(bound_), parameters_.weight, elements<T>(bound_.output),
                       output_gradient_of<T>(bound_),
                       {gradients_.weight, gradients_.bias, input_gradient_of<T>(bound_)});
    std::ranges::fill(gradients_.padding, 0.0F);
  }

 private:
  LinearSpec spec_;
  Bindings bound_;
  Halves<const float> parameters_;
  Halves<float> gradients_;
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
    conv2d_forward<T>(spec_, input_of<T>(bound_), parameters_.weight, parameters_.bias,
                      elements<T>(bound_.output));
  }

  void backward() override {
    conv2d_backward<T>(spec_, input_of<T>(bound_), parameters_.weight,
                       output_gradient_of<T>(bound_),
                       {gradients_.weight, gradients_.bias, input_gradient_of<T>(bound_)});
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

/// The workspace keeps the statistics that forward normalised with.
template <class T>
class BatchNormOperator final : public Operator {
 public:
  BatchNormOperator(const BatchNormSpec& spec, const Bindings& bound)
      : spec_(spec),
        bound_(bound),
        parameters_(halves(bound.parameters)),
        gradients_(halves(bound.gradients)),
        running_(halves(bound.buffers)),
        statistics_(halves(elements<float>(bound.workspace))) {}

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

  void backward() override {
    BatchNormBackward<T> from{.input = input_of<T>(bound_),
                              .weight = parameters_.weight,
                              .statistics = {statistics_.weight, statistics_.bias},
                              .output = elements<T>(bound_.output),
                              .output_gradients = {}};
    for (std::size_t i = 0; i < bound_.output_gradients.size(); ++i)
      from.output_gradients.push_back(output_gradient_of<T>(bound_, i));
    batch_norm_backward<T>(spec_, from,
                           {gradients_.weight, gradients_.bias, input_gradient_of<T>(bound_),
                            input_gradient_of<T>(bound_, 1)});
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

template <class T>
class ReluOperator final : public Operator {
 public:
  ReluOperator(const ReluSpec& /*spec*/, Bindings bound) : bound_(std::move(bound)) {}

  void forward() override {
    std::ranges::transform(input_of<T>(bound_), elements<T>(bound_.output).begin(),
                           [](T value) { return narrowed<T>(rectify(widened(value))); });
  }

  void backward() override {
    const std::span<const T> output = elements<T>(bound_.output);
    const std::span<T> gradient = input_gradient_of<T>(bound_);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = narrowed<T>(
          rectify_gradient(widened(output[i]), widened(output_gradient_of<T>(bound_)[i])));
  }

 private:
  Bindings bound_;
};

template <class T>
class GeluOperator final : public Operator {
 public:
  GeluOperator(const GeluSpec& /*spec*/, Bindings bound) : bound_(std::move(bound)) {}

  void forward() override {
    std::ranges::transform(input_of<T>(bound_), elements<T>(bound_.output).begin(),
                           [](T value) { return narrowed<T>(gelu(widened(value))); });
  }

  void backward() override {
    const std::span<T> gradient = input_gradient_of<T>(bound_);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = narrowed<T>(gelu_derivative(widened(input_of<T>(bound_)[i])) *
                                widened(output_gradient_of<T>(bound_)[i]));
  }

 private:
  Bindings bound_;
};

template <class T>
class AddOperator final : public Operator {
 public:
  AddOperator(const AddSpec& /*spec*/, Bindings bound) : bound_(std::move(bound)) {}

  void forward() override {
    std::ranges::transform(input_of<T>(bound_, 0), input_of<T>(bound_, 1),
                           elements<T>(bound_.output).begin(),
                           [](T a, T b) { return narrowed<T>(widened(a) + widened(b)); });
  }

  void backward() override {
    for (const std::span<std::byte> gradient : bound_.input_gradients)
      if (!gradient.empty()) std::ranges::copy(bound_.output_gradients[0], gradient.begin());
  }

 private:
  Bindings bound_;
};

template <class T>
class ForkOperator final : public Operator {
 public:
  ForkOperator(const ForkSpec& /*spec*/, Bindings bound) : bound_(std::move(bound)) {}

  void forward() override {}

  void backward() override {
    const std::span<T> gradient = input_gradient_of<T>(bound_);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      double sum = 0;
      for (std::size_t term = 0; term < bound_.output_gradients.size(); ++term)
        sum += widened(output_gradient_of<T>(bound_, term)[i]);
      gradient[i] = narrowed<T>(sum);
    }
  }

 private:
  Bindings bound_;
};

/// The scratch memory holds the sums of the input's gradient before they are rounded.
template <class T>
class PoolOperator final : public Operator {
 public:
  PoolOperator(const PoolSpec& spec, Bindings bound) : spec_(spec), bound_(std::move(bound)) {}

  void forward() override {
    pool_forward<T>(spec_, input_of<T>(bound_), elements<T>(bound_.output));
  }

  void backward() override {
    if (input_gradient_of<T>(bound_).empty()) return;
    const auto sums = elements<double>(bound_.scratch).first(input_of<T>(bound_).size());
    pool_backward<T>(spec_, input_of<T>(bound_), output_gradient_of<T>(bound_), sums,
                     input_gradient_of<T>(bound_));
  }

 private:
  PoolSpec spec_;
  Bindings bound_;
};

/// Row-major tensors of one order of elements: only the type changes.
template <class From, class To>
class ReorderOperator final : public Operator {
 public:
  explicit ReorderOperator(Bindings bound) : bound_(std::move(bound)) {}

  void forward() override {
    std::ranges::transform(input_of<From>(bound_), elements<To>(bound_.output).begin(),
                           [](From value) { return narrowed<To>(widened(value)); });
  }

  void backward() override {
    const std::span<From> gradient = input_gradient_of<From>(bound_);
    if (gradient.empty()) return;
    std::ranges::transform(output_gradient_of<To>(bound_), gradient.begin(),
                           [](To value) { return narrowed<From>(widened(value)); });
  }

 private:
  Bindings bound_;
};

template <class T>
class SoftmaxCrossEntropyOperator final : public Operator {
 public:
  SoftmaxCrossEntropyOperator(const SoftmaxCrossEntropySpec& spec, Bindings bound)
      : spec_(spec), bound_(std::move(bound)) {}

  void forward() override {
    bound_.loss[0] = static_cast<float>(
        softmax_cross_entropy_forward<T>(spec_, input_of<T>(bound_), bound_.labels));
  }

  void backward() override {
    const std::span<T> gradient = input_gradient_of<T>(bound_);
    if (gradient.empty()) return;
    softmax_cross_entropy_backward<T>(spec_, input_of<T>(bound_), bound_.labels,
                                      bound_.loss_scale[0], gradient);
  }

 private:
  SoftmaxCrossEntropySpec spec_;
  Bindings bound_;
};

template <template <class> class Made, class Spec>
std::unique_ptr<Operator> make(ElementType type, const Spec& spec, const Bindings& bound) {
  if (type == ElementType::bf16) return std::make_unique<Made<Bf16>>(spec, bound);
  return std::make_unique<Made<float>>(spec, bound);
}

std::unique_ptr<Operator> make_of(const LinearSpec& spec, const Bindings& bound) {
  return make<LinearOperator>(spec.type, spec, bound);
}
std::unique_ptr<Operator> make_of(const Conv2dSpec& spec, const Bindings& bound) {
  return make<Conv2dOperator>(spec.type, spec, bound);
}
std::unique_ptr<Operator> make_of(const BatchNormSpec& spec, const Bindings& bound) {
  return make<BatchNormOperator>(spec.type, spec, bound);
}
std::unique_ptr<Operator> make_of(const ReluSpec& spec, const Bindings& bound) {
  return make<ReluOperator>(spec.tensor.type, spec, bound);
}
std::unique_ptr<Operator> make_of(const GeluSpec& spec, const Bindings& bound) {
  return make<GeluOperator>(spec.tensor.type, spec, bound);
}
std::unique_ptr<Operator> make_of(const AddSpec& spec, const Bindings& bound) {
  return make<AddOperator>(spec.tensor.type, spec, bound);
}
std::unique_ptr<Operator> make_of(const ForkSpec& spec, const Bindings& bound) {
  return make<ForkOperator>(spec.tensor.type, spec, bound);
}
std::unique_ptr<Operator> make_of(const PoolSpec& spec, const Bindings& bound) {
  return make<PoolOperator>(spec.type, spec, bound);
}
std::unique_ptr<Operator> make_of(const ReorderSpec& spec, const Bindings& bound) {
  const auto from = [&]<class From>() -> std::unique_ptr<Operator> {
    if (spec.to.type == ElementType::bf16)
      return std::make_unique<ReorderOperator<From, Bf16>>(bound);
    return std::make_unique<ReorderOperator<From, float>>(bound);
  };
  return spec.from.type == ElementType::bf16 ? from.operator()<Bf16>() : from.operator()<float>();
}
std::unique_ptr<Operator> make_of(const SoftmaxCrossEntropySpec& spec, const Bindings& bound) {
  return make<SoftmaxCrossEntropyOperator>(spec.type, spec, bound);
}

}  // namespace

Bytes workspace_bytes_of(const OperatorSpec& spec) {
  const auto* batch_norm = std::get_if<BatchNormSpec>(&spec);
  return batch_norm != nullptr ? 2 * sizeof(float) * static_cast<Bytes>(batch_norm->input.channels)
                               : 0;
}

Bytes scratch_bytes_of(const OperatorSpec& spec) {
  const auto* pool = std::get_if<PoolSpec>(&spec);
  return pool != nullptr ? sizeof(double) * static_cast<Bytes>(pool->input.elements()) : 0;
}

std::unique_ptr<Operator> make_operator(const OperatorSpec& spec, const Bindings& bindings) {
  return std::visit([&](const auto& concrete) { return make_of(concrete, bindings); }, spec);
}

}  // namespace ptbench::reference
