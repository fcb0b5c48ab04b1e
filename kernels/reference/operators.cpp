#include "kernels/reference/operators.h"

#include <algorithm>
#include <utility>

#include "kernels/reference/activations.h"
#include "kernels/reference/implementation.h"
#include "kernels/reference/pool.h"
#include "kernels/reference/softmax_cross_entropy.h"
#include "kernels/reference/trained_operators.h"
#include "src/base/error.h"

namespace ptbench::reference {

template <class T>
class ReluOperator final : public Operator {
 public:
  ReluOperator(const ReluSpec& /*spec*/, Bindings bound) : bound_(std::move(bound)) {}

  void forward() override {
    std::ranges::transform(input_of<T>(bound_), elements<T>(bound_.output).begin(),
                           [](T value) { return narrowed<T>(rectify(widened(value))); });
  }

  void backward(GradientMode /*mode*/) override {
    const std::span<const T> output = elements<T>(bound_.output);
    const std::span<T> gradient = input_gradient_of<T>(bound_);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = narrowed<T>(
          rectify_gradient(widened(output[i]), widened(output_gradient_of<T>(bound_)[i])));
  }

 private:
  Bindings bound_;
};

template <>
struct Implementation<ReluSpec> : NoMemory, NothingToCheck {
  static std::unique_ptr<Operator> make(const ReluSpec& spec, const Bindings& bound) {
    return make_typed<ReluOperator>(spec.tensor.type, spec, bound);
  }
};

template <class T>
class GeluOperator final : public Operator {
 public:
  GeluOperator(const GeluSpec& /*spec*/, Bindings bound) : bound_(std::move(bound)) {}

  void forward() override {
    std::ranges::transform(input_of<T>(bound_), elements<T>(bound_.output).begin(),
                           [](T value) { return narrowed<T>(gelu(widened(value))); });
  }

  void backward(GradientMode /*mode*/) override {
    const std::span<T> gradient = input_gradient_of<T>(bound_);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = narrowed<T>(gelu_derivative(widened(input_of<T>(bound_)[i])) *
                                widened(output_gradient_of<T>(bound_)[i]));
  }

 private:
  Bindings bound_;
};

template <>
struct Implementation<GeluSpec> : NoMemory, NothingToCheck {
  static std::unique_ptr<Operator> make(const GeluSpec& spec, const Bindings& bound) {
    return make_typed<GeluOperator>(spec.tensor.type, spec, bound);
  }
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

  void backward(GradientMode /*mode*/) override {
    for (const std::span<std::byte> gradient : bound_.input_gradients)
      if (!gradient.empty()) std::ranges::copy(bound_.output_gradients[0], gradient.begin());
  }

 private:
  Bindings bound_;
};

template <>
struct Implementation<AddSpec> : NoMemory, NothingToCheck {
  static std::unique_ptr<Operator> make(const AddSpec& spec, const Bindings& bound) {
    return make_typed<AddOperator>(spec.tensor.type, spec, bound);
  }
};

template <class T>
class ForkOperator final : public Operator {
 public:
  ForkOperator(const ForkSpec& /*spec*/, Bindings bound) : bound_(std::move(bound)) {}

  void forward() override {}

  void backward(GradientMode /*mode*/) override {
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

template <>
struct Implementation<ForkSpec> : NoMemory, NothingToCheck {
  static std::unique_ptr<Operator> make(const ForkSpec& spec, const Bindings& bound) {
    return make_typed<ForkOperator>(spec.tensor.type, spec, bound);
  }
};

/// The scratch memory holds the sums of the input's gradient before they are rounded.
template <class T>
class PoolOperator final : public Operator {
 public:
  PoolOperator(const PoolSpec& spec, Bindings bound) : spec_(spec), bound_(std::move(bound)) {}

  void forward() override {
    pool_forward<T>(spec_, input_of<T>(bound_), elements<T>(bound_.output));
  }

  void backward(GradientMode /*mode*/) override {
    if (input_gradient_of<T>(bound_).empty()) return;
    const auto sums = elements<double>(bound_.scratch).first(input_of<T>(bound_).size());
    pool_backward<T>(spec_, input_of<T>(bound_), output_gradient_of<T>(bound_), sums,
                     input_gradient_of<T>(bound_));
  }

 private:
  PoolSpec spec_;
  Bindings bound_;
};

template <>
struct Implementation<PoolSpec> : NothingToCheck {
  static OperatorMemory memory(const PoolSpec& spec) {
    return {.scratch = sizeof(double) * static_cast<Bytes>(spec.input.elements())};
  }
  static std::unique_ptr<Operator> make(const PoolSpec& spec, const Bindings& bound) {
    return make_typed<PoolOperator>(spec.type, spec, bound);
  }
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

  void backward(GradientMode /*mode*/) override {
    const std::span<From> gradient = input_gradient_of<From>(bound_);
    if (gradient.empty()) return;
    std::ranges::transform(output_gradient_of<To>(bound_), gradient.begin(),
                           [](To value) { return narrowed<From>(widened(value)); });
  }

 private:
  Bindings bound_;
};

template <>
struct Implementation<ReorderSpec> : NoMemory {
  static void check(const ReorderSpec& spec) {
    ensure(spec.from.shape.elements() == spec.to.shape.elements(),
           "a reorder keeps the number of elements");
  }
  static std::unique_ptr<Operator> make(const ReorderSpec& spec, const Bindings& bound) {
    return with_element(spec.from.type, [&]<class From>(From) {
      return with_element(spec.to.type, [&]<class To>(To) -> std::unique_ptr<Operator> {
        return std::make_unique<ReorderOperator<From, To>>(bound);
      });
    });
  }
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

  void backward(GradientMode /*mode*/) override {
    const std::span<T> gradient = input_gradient_of<T>(bound_);
    if (gradient.empty()) return;
    softmax_cross_entropy_backward<T>(spec_, input_of<T>(bound_), bound_.labels,
                                      bound_.loss_scale[0], gradient);
  }

 private:
  SoftmaxCrossEntropySpec spec_;
  Bindings bound_;
};

template <>
struct Implementation<SoftmaxCrossEntropySpec> : NoMemory {
  static void check(const SoftmaxCrossEntropySpec& spec) {
    ensure(spec.global_batch >= spec.batch, "a global batch is smaller than its part");
  }
  static std::unique_ptr<Operator> make(const SoftmaxCrossEntropySpec& spec,
                                        const Bindings& bound) {
    return make_typed<SoftmaxCrossEntropyOperator>(spec.type, spec, bound);
  }
};

namespace {

OperatorMemory memory_of(const OperatorSpec& spec) {
  return std::visit([]<class Spec>(const Spec& s) { return Implementation<Spec>::memory(s); },
                    spec);
}

}  // namespace

Bytes saved_bytes_of(const OperatorSpec& spec) { return memory_of(spec).saved; }

Bytes scratch_bytes_of(const OperatorSpec& spec) { return memory_of(spec).scratch; }

void check_numbers(const OperatorSpec& spec) {
  std::visit([]<class Spec>(const Spec& s) { Implementation<Spec>::check(s); }, spec);
}

std::unique_ptr<Operator> make_operator(const OperatorSpec& spec, const Bindings& bindings) {
  return std::visit(
      [&]<class Spec>(const Spec& s) { return Implementation<Spec>::make(s, bindings); }, spec);
}

}  // namespace ptbench::reference
