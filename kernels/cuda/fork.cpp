#include <fmt/format.h>

#include <utility>

#include "kernels/cuda/addend_kernels.h"
#include "kernels/cuda/typed.h"
#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

template <class T>
class Fork final : public Operator {
 public:
  Fork(const OperatorSite& site, Bindings bindings)
      : device_(site.device), bindings_(std::move(bindings)) {}

  void forward() override {}  // its output is its input
  void backward(GradientMode /*mode*/) override {
    const std::span<T> sum = elements<T>(bindings_.input_gradients[0]);
    if (sum.empty()) return;
    Addends<T> gradients{};
    for (const std::span<const std::byte> gradient : bindings_.output_gradients)
      gradients.values[gradients.count++] = elements<T>(gradient).data();
    add_up(gradients, std::ssize(sum), sum.data(), device_.stream());
  }

 private:
  const CudaDevice& device_;
  Bindings bindings_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const ForkSpec& spec, const OperatorSite& site) {
  constexpr Size kMost = Addends<float>::kMost;
  if (spec.gradient_terms > kMost)
    throw capability_error(fmt::format("a CUDA kernel adds up {} gradients at most, not {}", kMost,
                                       spec.gradient_terms),
                           "use --device cpu");
  return std::make_unique<PlainPlan<Fork>>("fork", spec.tensor.type, site);
}

}  // namespace ptbench::cuda
