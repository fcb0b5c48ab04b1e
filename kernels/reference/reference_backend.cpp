#include "kernels/reference/reference_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/reference/loops.h"
#include "kernels/reference/reference_optimizer.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

constexpr std::string_view kCandidate = "reference";
constexpr Size kArenaMultiple = 16;

void ensure_size(std::size_t size, Size expected, const char* what) {
  ensure(static_cast<Size>(size) == expected, what);
}

class LinearOperator final : public Operator {
 public:
  LinearOperator(const LinearSpec& spec, const Bindings& bound)
      : spec_(spec),
        bound_(bound),
        weights_(static_cast<std::size_t>(spec.outputs * spec.inputs)),
        outputs_(static_cast<std::size_t>(spec.outputs)) {}

  void forward() override {
    reference::linear_forward<float>(spec_, bound_.input, bound_.parameters.first(weights_),
                                     bound_.parameters.subspan(weights_, outputs_), bound_.output);
  }

  void backward() override {
    reference::linear_backward<float>(
        spec_, bound_.input, bound_.parameters.first(weights_), bound_.output,
        bound_.output_gradient,
        {bound_.gradients.first(weights_), bound_.gradients.subspan(weights_, outputs_),
         bound_.input_gradient});
    std::ranges::fill(bound_.gradients.subspan(weights_ + outputs_), 0.0F);
  }

 private:
  LinearSpec spec_;
  Bindings bound_;
  std::size_t weights_;
  std::size_t outputs_;
};

class LinearPlan final : public OperatorPlan {
 public:
  explicit LinearPlan(const LinearSpec& spec) : spec_(spec) {
    ensure(spec.batch > 0 && spec.inputs > 0 && spec.outputs > 0, "a linear operator is empty");
  }

  [[nodiscard]] ParameterLayout layout() const override {
    const Size elements = round_up(spec_.outputs * (spec_.inputs + 1), kArenaMultiple);
    return {elements, {{Range{0, elements}, 0}}};
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("{}: reference", key_of(spec_));
  }

  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    check_tensors(tensors, arena);
    const auto behind_weight = std::ranges::copy(tensors[0], arena.begin()).out;
    const auto behind_bias = std::ranges::copy(tensors[1], behind_weight).out;
    std::fill(behind_bias, arena.end(), 0.0F);
  }

  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    check_tensors(tensors, arena);
    std::ranges::copy(arena.first(tensors[0].size()), tensors[0].begin());
    std::ranges::copy(arena.subspan(tensors[0].size(), tensors[1].size()), tensors[1].begin());
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    ensure_size(bindings.input.size(), spec_.batch * spec_.inputs, "input of linear");
    ensure_size(bindings.output.size(), spec_.batch * spec_.outputs, "output of linear");
    ensure_size(bindings.output_gradient.size(), spec_.batch * spec_.outputs,
                "output gradient of linear");
    ensure_size(bindings.input_gradient.size(),
                spec_.input_gradient ? spec_.batch * spec_.inputs : 0, "input gradient of linear");
    ensure_size(bindings.parameters.size(), layout().elements, "parameters of linear");
    ensure_size(bindings.gradients.size(), layout().elements, "gradients of linear");
    return std::make_unique<LinearOperator>(spec_, bindings);
  }

 private:
  template <class Tensors, class Arena>
  void check_tensors(const Tensors& tensors, const Arena& arena) const {
    ensure(tensors.size() == 2, "linear has a weight and a bias");
    ensure_size(tensors[0].size(), spec_.outputs * spec_.inputs, "weight of linear");
    ensure_size(tensors[1].size(), spec_.outputs, "bias of linear");
    ensure_size(arena.size(), layout().elements, "parameter arena of linear");
  }

  LinearSpec spec_;
};

class ReluOperator final : public Operator {
 public:
  explicit ReluOperator(const Bindings& bound) : bound_(bound) {}

  void forward() override {
    std::ranges::transform(bound_.input, bound_.output.begin(), reference::rectify<float>);
  }

  void backward() override {
    for (std::size_t i = 0; i < bound_.input_gradient.size(); ++i)
      bound_.input_gradient[i] =
          reference::rectify_gradient(bound_.output[i], bound_.output_gradient[i]);
  }

 private:
  Bindings bound_;
};

class ReluPlan final : public OperatorPlan {
 public:
  explicit ReluPlan(const ReluSpec& spec) : spec_(spec) {
    ensure(spec.elements > 0, "a relu is empty");
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("{}: reference", key_of(spec_));
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    ensure_size(bindings.input.size(), spec_.elements, "input of relu");
    ensure_size(bindings.output.size(), spec_.elements, "output of relu");
    ensure_size(bindings.output_gradient.size(), spec_.elements, "output gradient of relu");
    ensure_size(bindings.input_gradient.size(), spec_.input_gradient ? spec_.elements : 0,
                "input gradient of relu");
    return std::make_unique<ReluOperator>(bindings);
  }

 private:
  ReluSpec spec_;
};

class SoftmaxCrossEntropyOperator final : public Operator {
 public:
  SoftmaxCrossEntropyOperator(const SoftmaxCrossEntropySpec& spec, const Bindings& bound)
      : spec_(spec), bound_(bound) {}

  void forward() override {
    bound_.loss[0] = static_cast<float>(
        reference::softmax_cross_entropy_forward<float>(spec_, bound_.input, bound_.labels));
  }

  void backward() override {
    reference::softmax_cross_entropy_backward<float>(spec_, bound_.input, bound_.labels,
                                                     bound_.input_gradient);
  }

 private:
  SoftmaxCrossEntropySpec spec_;
  Bindings bound_;
};

class SoftmaxCrossEntropyPlan final : public OperatorPlan {
 public:
  explicit SoftmaxCrossEntropyPlan(const SoftmaxCrossEntropySpec& spec) : spec_(spec) {
    ensure(spec.batch > 0 && spec.classes > 0, "a loss is empty");
    ensure(spec.global_batch >= spec.batch, "a global batch is smaller than its part");
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("{}: reference", key_of(spec_));
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    ensure_size(bindings.input.size(), spec_.batch * spec_.classes, "logits of the loss");
    ensure_size(bindings.labels.size(), spec_.batch, "labels of the loss");
    ensure_size(bindings.loss.size(), 1, "value of the loss");
    ensure_size(bindings.input_gradient.size(), spec_.batch * spec_.classes,
                "logits' gradient of the loss");
    return std::make_unique<SoftmaxCrossEntropyOperator>(spec_, bindings);
  }

 private:
  SoftmaxCrossEntropySpec spec_;
};

std::unique_ptr<OperatorPlan> plan_of(const LinearSpec& spec) {
  return std::make_unique<LinearPlan>(spec);
}
std::unique_ptr<OperatorPlan> plan_of(const ReluSpec& spec) {
  return std::make_unique<ReluPlan>(spec);
}
std::unique_ptr<OperatorPlan> plan_of(const SoftmaxCrossEntropySpec& spec) {
  return std::make_unique<SoftmaxCrossEntropyPlan>(spec);
}

}  // namespace

std::vector<std::string> ReferenceBackend::candidates(const OperatorSpec& /*spec*/) const {
  return {std::string(kCandidate)};
}

std::unique_ptr<OperatorPlan> ReferenceBackend::plan(const OperatorSpec& spec,
                                                     std::string_view candidate) const {
  if (candidate != kCandidate)
    throw usage_error(fmt::format("the reference backend has no candidate '{}' for '{}'",
                                  printable(candidate), key_of(spec)),
                      "use 'reference'");
  return std::visit([](const auto& concrete) { return plan_of(concrete); }, spec);
}

std::unique_ptr<Optimizer> ReferenceBackend::plan_optimizer(
    const OptimizerSpec& spec, const OptimizerArenas& arenas,
    const std::vector<OwnedRange>& /*owned*/) const {
  return std::make_unique<ReferenceOptimizer>(spec, arenas);
}

}  // namespace ptbench
