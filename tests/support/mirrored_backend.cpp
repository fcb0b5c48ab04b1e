#include "tests/support/mirrored_backend.h"

#include <utility>

#include "src/base/function_ref.h"
#include "tests/support/mirrored_memory.h"

namespace ptbench::testing {
namespace {

class MirroredOperator final : public Operator {
 public:
  MirroredOperator(const OperatorPlan& plan, const Bindings& host, Device& device)
      : memory_(device), inner_(plan.bind(on_device(host))) {}

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

  [[nodiscard]] Bindings on_device(const Bindings& host) {
    Bindings bound = host;
    const auto move = [this](auto& spans) {
      for (auto& span : spans) span = memory_.on_device(span);
    };
    move(bound.inputs);
    move(bound.output_gradients);
    move(bound.input_gradients);
    bound.output = memory_.on_device(host.output);
    bound.parameters = memory_.on_device(host.parameters);
    bound.gradients = memory_.on_device(host.gradients);
    bound.buffers = memory_.on_device(host.buffers);
    bound.labels = memory_.on_device(host.labels);
    bound.loss = memory_.on_device(host.loss);
    bound.loss_scale = memory_.on_device(host.loss_scale);
    bound.workspace = memory_.on_device(host.workspace);
    bound.scratch = memory_.on_device(host.scratch);
    bound.addends = memory_.on_device(host.addends);
    return bound;
  }

  MirroredMemory memory_;
  std::unique_ptr<Operator> inner_;
};

class MirroredPlan final : public OperatorPlan {
 public:
  MirroredPlan(std::unique_ptr<OperatorPlan> inner, Device& device)
      : inner_(std::move(inner)), device_(device) {}

  [[nodiscard]] ParameterLayout layout() const override { return inner_->layout(); }
  [[nodiscard]] Bytes workspace_bytes() const override { return inner_->workspace_bytes(); }
  [[nodiscard]] Bytes scratch_bytes() const override { return inner_->scratch_bytes(); }
  [[nodiscard]] Bytes addend_bytes() const override { return inner_->addend_bytes(); }
  [[nodiscard]] std::string description() const override { return inner_->description(); }
  [[nodiscard]] std::optional<Flops> executed_flops() const override {
    return inner_->executed_flops();
  }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    inner_->import_parameters(tensors, arena);
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    inner_->export_parameters(arena, tensors);
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<MirroredOperator>(*inner_, bindings, device_);
  }

 private:
  std::unique_ptr<OperatorPlan> inner_;
  Device& device_;
};

class MirroredOptimizer final : public Optimizer {
 public:
  MirroredOptimizer(const KernelBackend& inner, const OptimizerSpec& spec,
                    const OptimizerArenas& host, const std::vector<OwnedRange>& owned)
      : memory_(inner.device()) {
    OptimizerArenas arenas{.parameters = memory_.on_device(host.parameters),
                           .gradients = memory_.on_device(host.gradients),
                           .state = {}};
    for (const std::span<float> state : host.state)
      arenas.state.push_back(memory_.on_device(state));
    inner_ = inner.plan_optimizer(spec, arenas, owned);
  }

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
