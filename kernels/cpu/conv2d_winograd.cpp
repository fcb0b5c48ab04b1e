#include "kernels/cpu/conv2d_winograd.h"

#include "kernels/cpu/image.h"
#include "kernels/cpu/winograd_bf16.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using onednn::Pass;
using onednn::PassMemory;

bool fits(const Conv2dSpec& shape) {
  const Window& w = shape.window;
  constexpr Size kMostPadding = 2;
  return shape.type == ElementType::bf16 && image_order(shape.type) == ImageOrder::blocked &&
         !shape.bias && !shape.plain_input && w.kernel_height == 3 && w.kernel_width == 3 &&
         w.stride_height == 1 && w.stride_width == 1 && w.padding_height <= kMostPadding &&
         w.padding_width <= kMostPadding && has_winograd_bf16();
}

class WinogradKernel final : public onednn::Kernel {
 public:
  WinogradKernel(const Conv2dSpec& spec, Pass pass, const PassMemory& memory)
      : spec_(spec), pass_(pass), memory_(memory) {}

  void run() override {
    const auto* input = static_cast<const Bf16*>(memory_.input);
    const auto* weights = static_cast<const float*>(memory_.weights);
    const auto* output = static_cast<const Bf16*>(memory_.output);
    // What a pass writes is const in PassMemory, as it depends on the pass which one that is.
    switch (pass_) {
      case Pass::forward:
        winograd_forward(spec_, input, weights, const_cast<Bf16*>(output), memory_.scratchpad);
        return;
      case Pass::data:
        winograd_data(spec_, output, weights, const_cast<Bf16*>(input), memory_.scratchpad);
        return;
      case Pass::weights:
        winograd_weights(spec_, input, output, const_cast<float*>(weights), memory_.scratchpad);
        return;
    }
  }

 private:
  Conv2dSpec spec_;
  Pass pass_;
  PassMemory memory_;
};

class WinogradPlan final : public onednn::PassPlan {
 public:
  WinogradPlan(const Conv2dSpec& spec, Pass pass)
      : spec_(spec),
        pass_(pass),
        weights_(onednn::blocked({spec.outputs, spec.input.channels, 3, 3}, ElementType::f32,
                                 onednn::Side::outputs)) {}

  [[nodiscard]] const onednn::WeightLayout& weights() const override { return weights_; }
  [[nodiscard]] Bytes scratchpad_bytes() const override {
    switch (pass_) {
      case Pass::forward: return winograd_forward_scratch(spec_);
      case Pass::data: return winograd_data_scratch(spec_);
      case Pass::weights: return winograd_weights_scratch(spec_);
    }
    throw Defect("unknown pass of convolutions");
  }
  [[nodiscard]] std::string description() const override {
    return weights_.text() + " winograd_2x3:bf16";
  }
  [[nodiscard]] Size winograd_tile() const override { return 2; }
  [[nodiscard]] std::unique_ptr<onednn::Kernel> bind(const PassMemory& memory) const override {
    return std::make_unique<WinogradKernel>(spec_, pass_, memory);
  }

 private:
  Conv2dSpec spec_;
  Pass pass_;
  onednn::WeightLayout weights_;
};

}  // namespace

std::shared_ptr<const onednn::PassPlan> plan_winograd_convolution(const Conv2dSpec& shape,
                                                                  Pass pass) {
  return fits(shape) ? std::make_shared<const WinogradPlan>(shape, pass) : nullptr;
}

}  // namespace ptbench
