#include <utility>

#include "kernels/cuda/operators.h"
#include "kernels/cuda/relu_kernels.h"

namespace ptbench::cuda {
namespace {

class Relu final : public Operator {
 public:
  Relu(const OperatorSite& site, Bindings bindings)
      : device_(site.device), bindings_(std::move(bindings)) {}

  void forward() override {
    const std::span<const float> input = elements<float>(bindings_.inputs[0]);
    rectify(input.data(), std::ssize(input), elements<float>(bindings_.output).data(),
            device_.stream());
  }
  void backward(GradientMode /*mode*/) override {
    const std::span<float> gradient = elements<float>(bindings_.input_gradients[0]);
    if (gradient.empty()) return;
    rectify_gradient(elements<float>(bindings_.output).data(),
                     elements<float>(bindings_.output_gradients[0]).data(), std::ssize(gradient),
                     gradient.data(), device_.stream());
  }

 private:
  const CudaDevice& device_;
  Bindings bindings_;
};

class ReluPlan final : public OperatorPlan {
 public:
  explicit ReluPlan(const OperatorSite& site) : site_(site) {}

  [[nodiscard]] std::string description() const override { return "relu"; }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<Relu>(site_, bindings);
  }

 private:
  OperatorSite site_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const ReluSpec& /*spec*/, const OperatorSite& site) {
  return std::make_unique<ReluPlan>(site);
}

}  // namespace ptbench::cuda
