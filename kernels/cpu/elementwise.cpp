#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/map.h"
#include "kernels/cpu/normal.h"
#include "kernels/cpu/operators.h"
#include "kernels/cpu/partition.h"
#include "kernels/cpu/simd.h"

namespace ptbench {
namespace {

constexpr Size kExponentialCost = 8;  // simple operations that one GELU is worth

template <class T>
const T* input(const Bindings& bindings, std::size_t index = 0) {
  return elements<T>(bindings.inputs[index]).data();
}
template <class T>
const T* output_gradient(const Bindings& bindings, std::size_t term = 0) {
  return elements<T>(bindings.output_gradients[term]).data();
}

// What each operator does with its part. NaN passes max(0, x) and opens its gradient, as in
// PyTorch, so that a diverged run shows.

struct Relu {
  static constexpr bool kForward = true;
  static constexpr Size kCost = 1;

  template <class Vector, class T>
  [[gnu::always_inline]] static void forward(const Bindings& b, const Range& part) {
    const auto max0 = [](const Vector& x) __attribute__((always_inline)) { return rectify(x); };
    simd::map<Vector>(part, elements<T>(b.output).data(), max0, input<T>(b));
  }
  template <class Vector, class T>
  [[gnu::always_inline]] static void backward(const Bindings& b, const Range& part) {
    const auto mask = [](const Vector& y, const Vector& gradient)
                          __attribute__((always_inline)) { return rectify_gradient(y, gradient); };
    const auto* y = elements<T>(std::span<const std::byte>(b.output)).data();
    simd::map<Vector>(part, elements<T>(b.input_gradients[0]).data(), mask, y,
                      output_gradient<T>(b));
  }
};

struct Gelu {
  static constexpr bool kForward = true;
  static constexpr Size kCost = kExponentialCost;

  template <class Vector, class T>
  [[gnu::always_inline]] static void forward(const Bindings& b, const Range& part) {
    const auto gelu = [](const Vector& x)
                          __attribute__((always_inline)) { return x * simd::normal(x).cumulative; };
    simd::map<Vector>(part, elements<T>(b.output).data(), gelu, input<T>(b));
  }
  /// (x·Φ(x))' = Φ(x) + x·φ(x).
  template <class Vector, class T>
  [[gnu::always_inline]] static void backward(const Bindings& b, const Range& part) {
    const auto slope = [](const Vector& x, const Vector& gradient) __attribute__((always_inline)) {
      const simd::Normal<Vector> n = simd::normal(x);
      return gradient * (n.cumulative + x * n.density);
    };
    simd::map<Vector>(part, elements<T>(b.input_gradients[0]).data(), slope, input<T>(b),
                      output_gradient<T>(b));
  }
};

struct Add {
  static constexpr bool kForward = true;
  static constexpr Size kCost = 1;

  template <class Vector, class T>
  [[gnu::always_inline]] static void forward(const Bindings& b, const Range& part) {
    const auto add = [](const Vector& x, const Vector& y)
                         __attribute__((always_inline)) { return x + y; };
    simd::map<Vector>(part, elements<T>(b.output).data(), add, input<T>(b, 0), input<T>(b, 1));
  }
  template <class Vector, class T>
  static void backward(const Bindings& b, const Range& part) {
    for (const std::span<std::byte> gradient : b.input_gradients)
      if (!gradient.empty())
        std::copy_n(output_gradient<T>(b) + part.begin, part.size(),
                    elements<T>(gradient).data() + part.begin);
  }
};

struct Fork {
  static constexpr bool kForward = false;
  static constexpr Size kCost = 1;

  template <class Vector, class T>
  static void forward(const Bindings& /*bindings*/, const Range& /*part*/) {}

  template <class Vector, class T>
  [[gnu::always_inline]] static void backward(const Bindings& b, const Range& part) {
    T* to = elements<T>(b.input_gradients[0]).data();
    const auto sum2 = [](const Vector& x, const Vector& y)
                          __attribute__((always_inline)) { return x + y; };
    if (b.output_gradients.size() == 2)
      simd::map<Vector>(part, to, sum2, output_gradient<T>(b, 0), output_gradient<T>(b, 1));
    else
      sum<Vector>(b, part, to);
  }

 private:
  template <class Vector, class T>
  [[gnu::always_inline]] static void sum(const Bindings& b, const Range& part, T* to) {
    const std::size_t terms = b.output_gradients.size();
    for (Size i = part.begin; i < part.end; i += simd::kLanes) {
      const Size count = std::min(simd::kLanes, part.end - i);
      auto sum = simd::load_first<Vector>(output_gradient<T>(b) + i, count);
      for (std::size_t term = 1; term < terms; ++term)
        sum += simd::load_first<Vector>(output_gradient<T>(b, term) + i, count);
      simd::store_first(to + i, count, sum);
    }
  }
};

template <class Function>
class Elementwise final : public Operator {
 public:
  Elementwise(ElementType type, const ElementPartition& partition, Bindings bindings, Team& team,
              Isa isa)
      : type_(type),
        partition_(partition),
        bindings_(std::move(bindings)),
        team_(team),
        isa_(isa) {}

  void forward() override {
    if constexpr (Function::kForward) {
      run([this]<class Vector, class T>(Types<Vector, T> /*types*/, const Range& part) {
        Function::template forward<Vector, T>(bindings_, part);
      });
    }
  }

  void backward(GradientMode /*mode*/) override {
    const auto wanted = [](std::span<std::byte> gradient) { return !gradient.empty(); };
    if (std::ranges::none_of(bindings_.input_gradients, wanted)) return;
    run([this]<class Vector, class T>(Types<Vector, T> /*types*/, const Range& part) {
      Function::template backward<Vector, T>(bindings_, part);
    });
  }

 private:
  template <class Vector, class T>
  struct Types {};

  /// job(types, part) on each member.
  template <class Job>
  void run(const Job& job) {
    team_.run(partition_.members(), [&](int member) {
      const Range part = partition_.part(member);
      simd::run(isa_, [&]<class Vector>(std::type_identity<Vector> /*vector*/) {
        if (type_ == ElementType::f32)
          job(Types<Vector, float>{}, part);
        else
          job(Types<Vector, Bf16>{}, part);
      });
    });
  }

  ElementType type_;
  ElementPartition partition_;
  Bindings bindings_;
  Team& team_;
  Isa isa_;
};

template <class Function>
class ElementwisePlan final : public OperatorPlan {
 public:
  ElementwisePlan(std::string name, const TensorSpec& tensor, bool input_gradient, Team& team,
                  Isa isa)
      : name_(std::move(name)),
        type_(tensor.type),
        partition_(tensor, Function::kCost, team.size()),
        input_gradient_(input_gradient),
        team_(team),
        isa_(isa) {}

  [[nodiscard]] std::string description() const override {
    return fmt::format("{} {} on {}", name_, name_of(isa_), partition_.members());
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    Bindings used = bindings;
    if (!input_gradient_) used.input_gradients.clear();
    return std::make_unique<Elementwise<Function>>(type_, partition_, std::move(used), team_, isa_);
  }

 private:
  std::string name_;
  ElementType type_;
  ElementPartition partition_;
  bool input_gradient_;
  Team& team_;
  Isa isa_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const ReluSpec& spec, Team& team, Isa isa) {
  return std::make_unique<ElementwisePlan<Relu>>("relu", spec.tensor, spec.input_gradient, team,
                                                 isa);
}

std::unique_ptr<OperatorPlan> plan_operator(const GeluSpec& spec, Team& team, Isa isa) {
  return std::make_unique<ElementwisePlan<Gelu>>("gelu", spec.tensor, spec.input_gradient, team,
                                                 isa);
}

std::unique_ptr<OperatorPlan> plan_operator(const AddSpec& spec, Team& team, Isa isa) {
  return std::make_unique<ElementwisePlan<Add>>("add", spec.tensor, true, team, isa);
}

std::unique_ptr<OperatorPlan> plan_operator(const ForkSpec& spec, Team& team, Isa isa) {
  return std::make_unique<ElementwisePlan<Fork>>("fork", spec.tensor, true, team, isa);
}

}  // namespace ptbench
