#include <utility>

#include "kernels/cuda/gelu_kernels.h"
#include "kernels/cuda/typed.h"

namespace ptbench::cuda {
namespace {

template <class T>
class Gelu final : public Operator {
 public:
  Gelu(const OperatorSite& site, Bindings bindings)
      : device_(site.device), bindings_(std::move(bindings)) {}

  void forward() override {
    const std::span<const T> input = elements<T>(bindings_.inputs[0]);
    gelu(input.data(), std::ssize(input), elements<T>(bindings_.output).data(), device_.stream());
  }
  void backward(GradientMode /*mode*/) override {
    const std::span<T> gradient = elements<T>(bindings_.input_gradients[0]);
    if (gradient.empty()) return;
    gelu_gradient(elements<T>(bindings_.inputs[0]).data(),
                  elements<T>(bindings_.output_gradients[0]).data(), std::ssize(gradient),
                  gradient.data(), device_.stream());
  }

 private:
  const CudaDevice& device_;
  Bindings bindings_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const GeluSpec& spec, const OperatorSite& site) {
  return std::make_unique<PlainPlan<Gelu>>("gelu", spec.tensor.type, site);
}

}  // namespace ptbench::cuda
