#include "kernels/cpu/conv2d_amx.h"

#include <utility>

#include "kernels/cpu/image.h"

#if defined(__x86_64__)
#include "kernels/cpu/conv2d_amx_pixels.h"
#include "kernels/cpu/conv2d_amx_weights.h"

namespace ptbench {
namespace {

using amx::PixelProducts;
using amx::WeightProducts;
using onednn::Pass;
using onednn::PassMemory;

Shape weights_of(const Conv2dSpec& spec) {
  return {spec.outputs, spec.input.channels, spec.window.kernel_height, spec.window.kernel_width};
}

// What a pass writes is const in PassMemory, as it depends on the pass which one that is.
template <class T>
T* written(const void* memory) {
  return static_cast<T*>(const_cast<void*>(memory));
}

class AmxWeightsKernel final : public onednn::Kernel {
 public:
  AmxWeightsKernel(WeightProducts products, const PassMemory& memory)
      : products_(std::move(products)), memory_(memory) {}
  void run() override {
    products_.run(static_cast<const Bf16*>(memory_.input), static_cast<const Bf16*>(memory_.output),
                  written<float>(memory_.weights), written<float>(memory_.bias),
                  memory_.scratchpad);
  }

 private:
  WeightProducts products_;
  PassMemory memory_;
};

class AmxWeightsPlan final : public onednn::PassPlan {
 public:
  explicit AmxWeightsPlan(const Conv2dSpec& spec)
      : products_(spec),
        layout_(onednn::blocked(weights_of(spec), ElementType::f32, onednn::Side::inputs)) {}

  [[nodiscard]] const onednn::WeightLayout& weights() const override { return layout_; }
  [[nodiscard]] Bytes scratchpad_bytes() const override { return products_.scratch_bytes(); }
  [[nodiscard]] std::string description() const override { return layout_.text() + " amx"; }
  [[nodiscard]] std::unique_ptr<onednn::Kernel> bind(const PassMemory& memory) const override {
    return std::make_unique<AmxWeightsKernel>(products_, memory);
  }

 private:
  WeightProducts products_;
  onednn::WeightLayout layout_;
};

class AmxPixelsKernel final : public onednn::Kernel {
 public:
  AmxPixelsKernel(PixelProducts products, const PixelProducts::Memory& memory)
      : products_(std::move(products)), memory_(memory) {}
  void run() override { products_.run(memory_); }

 private:
  PixelProducts products_;
  PixelProducts::Memory memory_;
};

class AmxPixelsPlan final : public onednn::PassPlan {
 public:
  AmxPixelsPlan(const Conv2dSpec& spec, Pass pass)
      : spec_(spec),
        forward_(pass == Pass::forward),
        products_(spec,
                  forward_ ? PixelProducts::Result::output : PixelProducts::Result::input_gradient),
        layout_(onednn::paired(weights_of(spec),
                               forward_ ? onednn::Side::inputs : onednn::Side::outputs)) {}

  [[nodiscard]] const onednn::WeightLayout& weights() const override { return layout_; }
  [[nodiscard]] Bytes scratchpad_bytes() const override { return products_.scratch_bytes(); }
  [[nodiscard]] std::string description() const override { return layout_.text() + " amx"; }
  [[nodiscard]] std::unique_ptr<onednn::Kernel> bind(const PassMemory& memory) const override {
    const void* result = forward_ ? memory.output : memory.input;
    return std::make_unique<AmxPixelsKernel>(
        products_,
        PixelProducts::Memory{
            .factor = static_cast<const Bf16*>(forward_ ? memory.input : memory.output),
            .weights = static_cast<const Bf16*>(memory.weights),
            .bias = forward_ && spec_.bias ? static_cast<const float*>(memory.bias) : nullptr,
            .result = written<Bf16>(result),
            .add = forward_ && spec_.add,
            .scratch = memory.scratchpad});
  }

 private:
  Conv2dSpec spec_;
  bool forward_;
  PixelProducts products_;
  onednn::WeightLayout layout_;
};

}  // namespace

std::shared_ptr<const onednn::PassPlan> plan_amx_convolution(const Conv2dSpec& shape, Pass pass) {
  if (image_order(shape.type) != ImageOrder::channels_last) return nullptr;
  if (pass == Pass::weights) return std::make_shared<const AmxWeightsPlan>(shape);
  return std::make_shared<const AmxPixelsPlan>(shape, pass);
}

}  // namespace ptbench

#else

namespace ptbench {

std::shared_ptr<const onednn::PassPlan> plan_amx_convolution(const Conv2dSpec& /*shape*/,
                                                             onednn::Pass /*pass*/) {
  return nullptr;
}

}  // namespace ptbench
#endif
