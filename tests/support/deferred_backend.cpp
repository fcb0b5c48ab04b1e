#include "tests/support/deferred_backend.h"

#include <utility>

namespace ptbench::testing {
namespace {

/// Something of the inner backend, that belongs to the device's thread.
template <class T>
class Inner {
 public:
  Inner(DeferredDevice& device, const std::function<std::unique_ptr<T>()>& make) : device_(device) {
    device.run([&] { made_ = make(); });
  }
  ~Inner() {
    try {
      device_.run([this] { made_.reset(); });
    } catch (...) {  // the device has failed, and says so to whoever waits for it
      made_.reset();
    }
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

  /// Later.
  template <class Call>
  void give(Call call) {
    give_to(device_.compute(), call);
  }
  template <class Call>
  void give_to(Queue& queue, Call call) {
    static_cast<DeferredQueue&>(queue).give([this, call] { call(*made_); });
  }
  [[nodiscard]] DeferredDevice& device() { return device_; }

 private:
  DeferredDevice& device_;
  std::unique_ptr<T> made_;
};

class DeferredOperator final : public Operator {
 public:
  DeferredOperator(DeferredDevice& device, const std::function<std::unique_ptr<Operator>()>& bind)
      : inner_(device, bind) {}
  void forward() override {
    inner_.give([](Operator& made) { made.forward(); });
  }
  void evaluate() override {
    inner_.give([](Operator& made) { made.evaluate(); });
  }
  void backward(GradientMode mode) override {
    inner_.give([mode](Operator& made) { made.backward(mode); });
  }
  void parameters_changed() override {
    inner_.give([](Operator& made) { made.parameters_changed(); });
  }

 private:
  Inner<Operator> inner_;
};

class DeferredPlan final : public ForwardingPlan {
 public:
  DeferredPlan(DeferredDevice& device, std::unique_ptr<OperatorPlan> inner)
      : ForwardingPlan(std::move(inner)), device_(device) {}
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    const Bindings real = moved(bindings, [&](auto span) { return device_.world().real(span); });
    return std::make_unique<DeferredOperator>(device_, [&] { return inner().bind(real); });
  }

 private:
  DeferredDevice& device_;
};

class DeferredOptimizer final : public Optimizer {
 public:
  DeferredOptimizer(DeferredDevice& device, const std::function<std::unique_ptr<Optimizer>()>& plan)
      : inner_(device, plan) {}
  void step(Range slice, Size step, float gradient_scale) override {
    inner_.give([=](Optimizer& made) { made.step(slice, step, gradient_scale); });
  }
  void step_in(Queue& queue, Range slice, Size step, float gradient_scale) override {
    inner_.give_to(queue, [=](Optimizer& made) { made.step(slice, step, gradient_scale); });
  }

 private:
  Inner<Optimizer> inner_;
};

class DeferredPasses final : public ArenaPasses {
 public:
  DeferredPasses(DeferredDevice& device, const std::function<std::unique_ptr<ArenaPasses>()>& plan)
      : inner_(device, plan) {}
  void assign(Range slice, std::span<const float> terms) override {
    inner_.give([slice, real = inner_.device().world().real(terms)](ArenaPasses& made) {
      made.assign(slice, real);
    });
  }
  void add(Range slice, std::span<const std::span<const float>> terms) override {
    std::vector<std::span<const float>> real;
    for (const auto& term : terms) real.push_back(inner_.device().world().real(term));
    inner_.give([slice, real](ArenaPasses& made) { made.add(slice, real); });
  }
  void find_non_finite(std::span<const Range> slices, std::span<float> found) override {
    inner_.give([kept = std::vector<Range>(slices.begin(), slices.end()),
                 real = inner_.device().world().real(found)](ArenaPasses& made) {
      made.find_non_finite(kept, real);
    });
  }
  void add_up(std::span<const float> terms, std::span<float> sum) override {
    const DeferredWorld& world = inner_.device().world();
    inner_.give([from = world.real(terms), to = world.real(sum)](ArenaPasses& made) {
      made.add_up(from, to);
    });
  }

 private:
  Inner<ArenaPasses> inner_;
};

}  // namespace

std::unique_ptr<OperatorPlan> DeferredBackend::plan(const OperatorSpec& spec,
                                                    std::string_view candidate) const {
  return std::make_unique<DeferredPlan>(device_, inner().plan(spec, candidate));
}

std::unique_ptr<Optimizer> DeferredBackend::plan_optimizer(
    const OptimizerSpec& spec, const OptimizerArenas& arenas,
    const std::vector<OwnedRange>& owned) const {
  const OptimizerArenas real = moved(arenas, [&](auto span) { return device_.world().real(span); });
  return std::make_unique<DeferredOptimizer>(
      device_, [&] { return inner().plan_optimizer(spec, real, owned); });
}

std::unique_ptr<ArenaPasses> DeferredBackend::plan_arena_passes(
    std::span<float> arena, const std::vector<OwnedRange>& owned) const {
  return std::make_unique<DeferredPasses>(
      device_, [&] { return inner().plan_arena_passes(device_.world().real(arena), owned); });
}

}  // namespace ptbench::testing
