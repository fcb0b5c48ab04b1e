#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/cuda/pool_kernels.h"
#include "kernels/cuda/typed.h"
#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

PoolShape shape_of(const PoolSpec& spec) {
  const auto fit = [](Size size) {
    ensure(size <= std::numeric_limits<int>::max(), "sizes of a pool fit an int");
    return static_cast<int>(size);
  };
  const ImageShape output = spec.output();
  const Window& window = spec.window;
  (void)fit(window.kernel_height * window.kernel_width);  // positions in it
  (void)fit(spec.input.channels * std::max(spec.input.pixels(), output.pixels()));
  return {.batch = spec.input.batch,
          .channels = fit(spec.input.channels),
          .height = fit(spec.input.height),
          .width = fit(spec.input.width),
          .output_height = fit(output.height),
          .output_width = fit(output.width),
          .kernel_height = fit(window.kernel_height),
          .kernel_width = fit(window.kernel_width),
          .stride_height = fit(window.stride_height),
          .stride_width = fit(window.stride_width),
          .padding_height = fit(window.padding_height),
          .padding_width = fit(window.padding_width)};
}

/// Whether a byte holds a position in the window. The outputs of windows that are larger are few.
bool has_narrow_positions(const PoolSpec& spec) {
  constexpr Size kBytes = 256;
  return shape_of(spec).window() <= kBytes;
}

/// A position for each element of the output, in the saved memory, where a backward pass wants
/// them.
Bytes position_bytes(const PoolSpec& spec) {
  if (spec.kind == PoolKind::average || !spec.input_gradient) return 0;
  const auto outputs = static_cast<Bytes>(spec.output().elements());
  return outputs * (has_narrow_positions(spec) ? sizeof(std::uint8_t) : sizeof(std::int32_t));
}

template <class T>
class Pool final : public Operator {
 public:
  Pool(const PoolSpec& spec, const OperatorSite& site, Bindings bindings)
      : spec_(spec), shape_(shape_of(spec)), device_(site.device), bindings_(std::move(bindings)) {}

  void forward() override {
    const T* input = elements<T>(bindings_.inputs[0]).data();
    T* output = elements<T>(bindings_.output).data();
    if (spec_.kind == PoolKind::average)
      average_pool(shape_, input, output, device_.stream());
    else
      with_positions(
          [&](auto* positions) { max_pool(shape_, input, output, positions, device_.stream()); });
  }

  void backward(GradientMode /*mode*/) override {
    if (!spec_.input_gradient || bindings_.input_gradients[0].empty()) return;
    const T* output_gradient = elements<T>(bindings_.output_gradients[0]).data();
    T* input_gradient = elements<T>(bindings_.input_gradients[0]).data();
    if (spec_.kind == PoolKind::average)
      average_pool_gradient(shape_, output_gradient, input_gradient, device_.stream());
    else
      with_positions([&](const auto* positions) {
        max_pool_gradient(shape_, output_gradient, positions, input_gradient, device_.stream());
      });
  }

 private:
  /// use(the positions), null where no backward pass wants them.
  template <class Use>
  void with_positions(const Use& use) const {
    std::byte* const memory = bindings_.saved.empty() ? nullptr : bindings_.saved.data();
    if (has_narrow_positions(spec_))
      use(reinterpret_cast<std::uint8_t*>(memory));
    else
      use(reinterpret_cast<std::int32_t*>(memory));
  }

  PoolSpec spec_;
  PoolShape shape_;
  const CudaDevice& device_;
  Bindings bindings_;
};

class PoolPlan final : public OperatorPlan {
 public:
  PoolPlan(const PoolSpec& spec, const OperatorSite& site) : spec_(spec), site_(site) {}

  [[nodiscard]] Bytes saved_bytes() const override { return position_bytes(spec_); }
  [[nodiscard]] std::string description() const override {
    return shape_of(spec_).window() < kSharedWindow ? "pool, a thread a window"
                                                    : "pool, shared windows";
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return make_typed<Pool>(spec_.type, spec_, site_, bindings);
  }

 private:
  PoolSpec spec_;
  OperatorSite site_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const PoolSpec& spec, const OperatorSite& site) {
  return std::make_unique<PoolPlan>(spec, site);
}

}  // namespace ptbench::cuda
