#include "kernels/cpu/conv2d_winograd.h"

#include "kernels/cpu/image.h"
#include "kernels/cpu/widened_products.h"
#include "kernels/cpu/winograd_bf16.h"
#include "kernels/cpu/winograd_f32.h"
#include "kernels/cpu/winograd_stride2.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using onednn::Pass;
using onednn::PassMemory;

bool has_instructions(ElementType type) {
  if (type == ElementType::f32) return has_winograd_f32();
  return type == ElementType::bf16 && has_winograd_bf16();
}

bool has_stride2(const Conv2dSpec& shape) { return shape.window.stride_height == 2; }

bool has_window(const Conv2dSpec& shape) {
  if (shape.window == Window::square(3, 2, 1)) return shape.type == ElementType::f32;
  const Window& w = shape.window;
  constexpr Size kMostPadding = 2;
  return w.kernel_height == 3 && w.kernel_width == 3 && w.stride_height == 1 &&
         w.stride_width == 1 && w.padding_height <= kMostPadding && w.padding_width <= kMostPadding;
}

bool fits(const Conv2dSpec& shape) {
  return image_order(shape.type) == ImageOrder::blocked && has_instructions(shape.type) &&
         (!shape.bias || shape.type == ElementType::f32) && !shape.plain_input && has_window(shape);
}

/// The passes in f32 with windows of one stride.
struct F32Passes {
  Bytes (*forward_scratch)(const Conv2dSpec&);
  Bytes (*data_scratch)(const Conv2dSpec&);
  Bytes (*weights_scratch)(const Conv2dSpec&);
  void (*forward)(const Conv2dSpec&, const float*, const float*, const float*, float*, std::byte*);
  void (*data)(const Conv2dSpec&, const float*, const float*, float*, std::byte*);
  void (*weights)(const Conv2dSpec&, const float*, const float*, float*, float*, std::byte*);
};

F32Passes f32_passes(const Conv2dSpec& spec) {
  if (has_stride2(spec))
    return {.forward_scratch = winograd_stride2_forward_scratch,
            .data_scratch = winograd_stride2_data_scratch,
            .weights_scratch = winograd_stride2_weights_scratch,
            .forward = winograd_stride2_forward,
            .data = winograd_stride2_data,
            .weights = winograd_stride2_weights};
  return {.forward_scratch = winograd_f32_forward_scratch,
          .data_scratch = winograd_f32_data_scratch,
          .weights_scratch = winograd_f32_weights_scratch,
          .forward = winograd_f32_forward,
          .data = winograd_f32_data,
          .weights = winograd_f32_weights};
}

/// What multiplies transformed values in bf16.
products::MultiplyPanel panel_of(WinogradProducts products) {
  return products == WinogradProducts::widened ? products::multiply_panel_widened
                                               : products::multiply_panel;
}

class WinogradKernel final : public onednn::Kernel {
 public:
  WinogradKernel(const Conv2dSpec& spec, Pass pass, WinogradProducts products,
                 const PassMemory& memory)
      : spec_(spec), pass_(pass), multiply_panel_(panel_of(products)), memory_(memory) {}

  void run() override { spec_.type == ElementType::f32 ? run_f32() : run_bf16(); }

 private:
  // What a pass writes is const in PassMemory, as it depends on the pass which one that is.
  void run_f32() {
    const auto* input = static_cast<const float*>(memory_.input);
    const auto* weights = static_cast<const float*>(memory_.weights);
    const auto* bias = static_cast<const float*>(memory_.bias);
    const auto* output = static_cast<const float*>(memory_.output);
    std::byte* scratch = memory_.scratchpad;
    const F32Passes passes = f32_passes(spec_);
    switch (pass_) {
      case Pass::forward:
        passes.forward(spec_, input, weights, bias, const_cast<float*>(output), scratch);
        return;
      case Pass::data:
        passes.data(spec_, output, weights, const_cast<float*>(input), scratch);
        return;
      case Pass::weights:
        passes.weights(spec_, input, output, const_cast<float*>(weights), const_cast<float*>(bias),
                       scratch);
        return;
    }
  }

  void run_bf16() {
    const auto* input = static_cast<const Bf16*>(memory_.input);
    const auto* weights = static_cast<const float*>(memory_.weights);
    const auto* output = static_cast<const Bf16*>(memory_.output);
    std::byte* scratch = memory_.scratchpad;
    switch (pass_) {
      case Pass::forward:
        winograd_bf16_forward(spec_, multiply_panel_, input, weights, const_cast<Bf16*>(output),
                              scratch);
        return;
      case Pass::data:
        winograd_bf16_data(spec_, multiply_panel_, output, weights, const_cast<Bf16*>(input),
                           scratch);
        return;
      case Pass::weights:
        winograd_bf16_weights(spec_, multiply_panel_, input, output, const_cast<float*>(weights),
                              scratch);
        return;
    }
  }

  Conv2dSpec spec_;
  Pass pass_;
  products::MultiplyPanel multiply_panel_;
  PassMemory memory_;
};

class WinogradPlan final : public onednn::PassPlan {
 public:
  WinogradPlan(const Conv2dSpec& spec, Pass pass, WinogradProducts products)
      : spec_(spec),
        pass_(pass),
        products_(products),
        weights_(onednn::blocked({spec.outputs, spec.input.channels, 3, 3}, ElementType::f32,
                                 onednn::Side::outputs)) {}

  [[nodiscard]] const onednn::WeightLayout& weights() const override { return weights_; }
  [[nodiscard]] Bytes scratchpad_bytes() const override {
    const bool f32 = spec_.type == ElementType::f32;
    const F32Passes passes = f32_passes(spec_);
    switch (pass_) {
      case Pass::forward:
        return f32 ? passes.forward_scratch(spec_) : winograd_bf16_forward_scratch(spec_);
      case Pass::data: return f32 ? passes.data_scratch(spec_) : winograd_bf16_data_scratch(spec_);
      case Pass::weights:
        return f32 ? passes.weights_scratch(spec_) : winograd_bf16_weights_scratch(spec_);
    }
    throw Defect("unknown pass of convolutions");
  }
  [[nodiscard]] std::string description() const override {
    if (spec_.type != ElementType::f32)
      return weights_.text() + (products_ == WinogradProducts::widened ? " winograd_2x3:widened"
                                                                       : " winograd_2x3:bf16");
    return weights_.text() + (has_stride2(spec_) ? " winograd_4x3/2:f32" : " winograd_4x3:f32");
  }
  [[nodiscard]] onednn::WinogradTile winograd_tile() const override {
    if (spec_.type != ElementType::f32) return {.results = 2, .products = 4};
    if (!has_stride2(spec_)) return {.results = 4, .products = 6};
    // As many products make twice as many results of the gradient of x.
    return {.results = pass_ == Pass::data ? 8 : 4, .products = 9};
  }
  [[nodiscard]] std::unique_ptr<onednn::Kernel> bind(const PassMemory& memory) const override {
    return std::make_unique<WinogradKernel>(spec_, pass_, products_, memory);
  }

 private:
  Conv2dSpec spec_;
  Pass pass_;
  WinogradProducts products_;
  onednn::WeightLayout weights_;
};

}  // namespace

std::shared_ptr<const onednn::PassPlan> plan_winograd_convolution(const Conv2dSpec& shape,
                                                                  Pass pass,
                                                                  WinogradProducts products) {
  if (products == WinogradProducts::widened && shape.type != ElementType::bf16) return nullptr;
  return fits(shape) ? std::make_shared<const WinogradPlan>(shape, pass, products) : nullptr;
}

}  // namespace ptbench
