#include "tests/support/mirrored_backend.h"

#include <utility>

#include "src/base/function_ref.h"
#include "tests/support/mirrored_memory.h"

namespace ptbench::testing {
namespace {

class MirroredOperator final : public Operator {
 public:
  MirroredOperator(const OperatorPlan& plan, const Bindings& host, Device& device)
      : memory_(device),
        inner_(plan.bind(moved(host, [this](auto span) { return memory_.on_device(span); }))) {}

  void forward() override {
    run([this] { inner_->forward(); });
  }
  void evaluate() override {
    run([this] { inner_->evaluate(); });
  }
  void backward(GradientMode mode) override {
    run([this, mode] { inner_->backward(mode); });
  }
  void parameters_changed() override {
    run([this] { inner_->parameters_changed(); });
  }

 private:
  void run(FunctionRef<void()> work) {
    memory_.upload();
    work();
    memory_.download();
  }

  MirroredMemory memory_;
  std::unique_ptr<Operator> inner_;
};

class MirroredPlan final : public ForwardingPlan {
 public:
  MirroredPlan(std::unique_ptr<OperatorPlan> inner, Device& device)
      : ForwardingPlan(std::move(inner)), device_(device) {}

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<MirroredOperator>(inner(), bindings, device_);
  }

 private:
  Device& device_;
};

class MirroredOptimizer final : public Optimizer {
 public:
  MirroredOptimizer(const KernelBackend& inner, const OptimizerSpec& spec,
                    const OptimizerArenas& host, const std::vector<OwnedRange>& owned)
      : memory_(inner.device()),
        inner_(inner.plan_optimizer(
            spec, moved(host, [this](auto span) { return memory_.on_device(span); }), owned)) {}

  void step(Range slice, Size step, float gradient_scale) override {
    memory_.upload();
    inner_->step(slice, step, gradient_scale);
    memory_.download();
  }

 private:
  MirroredMemory memory_;
  std::unique_ptr<Optimizer> inner_;
};

class MirroredPasses final : public ArenaPasses {
 public:
  MirroredPasses(const KernelBackend& inner, std::span<float> arena,
                 const std::vector<OwnedRange>& owned)
      : device_(inner.device()),
        memory_(device_),
        inner_(inner.plan_arena_passes(memory_.on_device(arena), owned)) {}

  void assign(Range slice, std::span<const float> terms) override {
    with({}, [&](MirroredMemory& others) { inner_->assign(slice, others.on_device(terms)); },
         {&terms, 1});
  }
  void add(Range slice, std::span<const std::span<const float>> terms) override {
    with(
        {},
        [&](MirroredMemory& others) {
          std::vector<std::span<const float>> there;
          for (const std::span<const float> term : terms) there.push_back(others.on_device(term));
          inner_->add(slice, there);
        },
        terms);
  }
  void find_non_finite(std::span<const Range> slices, std::span<float> found) override {
    with(found,
         [&](MirroredMemory& others) { inner_->find_non_finite(slices, others.on_device(found)); });
  }
  void add_up(std::span<const float> terms, std::span<float> sum) override {
    with(sum,
         [&](MirroredMemory& others) {
           inner_->add_up(others.on_device(terms), others.on_device(sum));
         },
         {&terms, 1});
  }

 private:
  /// `work` with the arena, `result` and `terms` on the device.
  void with(std::span<float> result, FunctionRef<void(MirroredMemory&)> work,
            std::span<const std::span<const float>> terms = {}) {
    MirroredMemory others(device_);
    (void)others.on_device(result);
    for (const std::span<const float> term : terms) (void)others.on_device(term);
    memory_.upload();
    others.upload();
    work(others);
    memory_.download();
    others.download();
  }

  Device& device_;
  MirroredMemory memory_;
  std::unique_ptr<ArenaPasses> inner_;
};

}  // namespace

std::unique_ptr<OperatorPlan> MirroredBackend::plan(const OperatorSpec& spec,
                                                    std::string_view candidate) const {
  return std::make_unique<MirroredPlan>(inner_.plan(spec, candidate), inner_.device());
}

std::unique_ptr<Optimizer> MirroredBackend::plan_optimizer(
    const OptimizerSpec& spec, const OptimizerArenas& arenas,
    const std::vector<OwnedRange>& owned) const {
  return std::make_unique<MirroredOptimizer>(inner_, spec, arenas, owned);
}

std::unique_ptr<ArenaPasses> MirroredBackend::plan_arena_passes(
    std::span<float> arena, const std::vector<OwnedRange>& owned) const {
  return std::make_unique<MirroredPasses>(inner_, arena, owned);
}

}  // namespace ptbench::testing
