#include <utility>

#include "kernels/cuda/addend_kernels.h"
#include "kernels/cuda/typed.h"

namespace ptbench::cuda {
namespace {

template <class T>
class Add final : public Operator {
 public:
  Add(const OperatorSite& site, Bindings bindings)
      : device_(site.device), bindings_(std::move(bindings)) {}

  void forward() override {
    const std::span<T> output = elements<T>(bindings_.output);
    const Addends<T> inputs{.values = {elements<T>(bindings_.inputs[0]).data(),
                                       elements<T>(bindings_.inputs[1]).data()},
                            .count = 2};
    add_up(inputs, std::ssize(output), output.data(), device_.stream());
  }
  void backward(GradientMode /*mode*/) override {
    for (const std::span<std::byte> gradient : bindings_.input_gradients)
      if (!gradient.empty()) device_.compute().copy(bindings_.output_gradients[0], gradient);
  }

 private:
  CudaDevice& device_;
  Bindings bindings_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const AddSpec& spec, const OperatorSite& site) {
  return std::make_unique<PlainPlan<Add>>("add", spec.tensor.type, site);
}

}  // namespace ptbench::cuda
