// Inner products and convolutions, planned by oneDNN.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cpu/image.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/onednn_library.h"
#include "kernels/cpu/onednn_versions.h"
#include "src/base/error.h"

namespace ptbench::onednn {
namespace {

/// What follows a product: + what the output holds, then max(0, ·), which makes 0 of NaN.
struct Epilogue {
  bool add = false;
  bool relu = false;
};

dnnl::primitive_attr attributes(Epilogue epilogue = {}) {
  dnnl::primitive_attr attributes;
  // The scratchpad is ours: predicted, allocated before the first step, and free of the rule that
  // creator and executor are one thread.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  if (epilogue.add) ops.append_sum();
  if (epilogue.relu) append_relu(ops);
  attributes.set_post_ops(ops);
  return attributes;
}

/// Any primitive that works on x, W, b and y.
class PlannedPass final : public PassPlan {
 public:
  /// An argument of the primitive and where its memory is to be found.
  struct Argument {
    int name;
    memory::desc desc;
    const void* PassMemory::* data;
  };

  PlannedPass(std::string what, dnnl::primitive_desc desc, std::vector<Argument> arguments,
              WeightLayout weights)
      : what_(std::move(what)),
        desc_(std::move(desc)),
        arguments_(std::move(arguments)),
        weights_(std::move(weights)) {}

  [[nodiscard]] const WeightLayout& weights() const override { return weights_; }
  [[nodiscard]] Bytes scratchpad_bytes() const override {
    return desc_.scratchpad_desc().get_size();
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{} {}", weights_.text(), desc_.impl_info_str());
  }
  [[nodiscard]] bool is_optimised() const {
    return !std::string_view(desc_.impl_info_str()).starts_with("ref");
  }

  /// Generates the kernel's code: part of planning, so that what it takes is known before data
  /// memory is allocated.
  void generate() {
    primitive_ = dnnl::primitive(desc_.get());
    if (std::string_view(desc_.impl_info_str()).find("gemm") != std::string_view::npos)
      generate_gemm();
  }

  [[nodiscard]] std::unique_ptr<Kernel> bind(const PassMemory& m) const override {
    return checked(what_, [&] {
      std::vector<BoundKernel::Argument> memories;
      for (const Argument& argument : arguments_)
        memories.push_back({argument.name, at(argument.desc, m.*argument.data)});
      memories.push_back({DNNL_ARG_SCRATCHPAD, at(desc_.scratchpad_desc(), m.scratchpad)});
      return std::make_unique<BoundKernel>(what_, primitive_, std::move(memories));
    });
  }

 private:
  std::string what_;
  dnnl::primitive_desc desc_;
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  WeightLayout weights_;
};

/// The tensors of a pass, weights perhaps still to be chosen.
struct Tensors {
  memory::desc input;
  memory::desc weights;
  memory::desc bias;  ///< zero where there is none
  memory::desc output;
};

/// The arguments of each pass are the same for all primitives. `weights` is what was chosen.
std::vector<PlannedPass::Argument> arguments_of(Pass pass, const Tensors& t,
                                                const memory::desc& weights) {
  const bool bias = !t.bias.is_zero();
  std::vector<PlannedPass::Argument> list;
  switch (pass) {
    case Pass::forward:
      list = {{DNNL_ARG_SRC, t.input, &PassMemory::input},
              {DNNL_ARG_WEIGHTS, weights, &PassMemory::weights},
              {DNNL_ARG_DST, t.output, &PassMemory::output}};
      if (bias) list.push_back({DNNL_ARG_BIAS, t.bias, &PassMemory::bias});
      break;
    case Pass::weights:
      list = {{DNNL_ARG_SRC, t.input, &PassMemory::input},
              {DNNL_ARG_DIFF_WEIGHTS, weights, &PassMemory::weights},
              {DNNL_ARG_DIFF_DST, t.output, &PassMemory::output}};
      if (bias) list.push_back({DNNL_ARG_DIFF_BIAS, t.bias, &PassMemory::bias});
      break;
    case Pass::data:
      list = {{DNNL_ARG_DIFF_SRC, t.input, &PassMemory::input},
              {DNNL_ARG_WEIGHTS, weights, &PassMemory::weights},
              {DNNL_ARG_DIFF_DST, t.output, &PassMemory::output}};
      break;
  }
  return list;
}

/// Runs `make`, which returns a plan, and returns null where oneDNN has nothing good to offer.
template <class Make>
std::shared_ptr<const PassPlan> optimised(const std::string& what, const Make& make) {
  use_one_thread();
  try {
    std::shared_ptr<PlannedPass> plan = make();
    if (!plan->is_optimised()) return nullptr;
    plan->generate();
    return plan;
  } catch (const dnnl::error& failure) {
    if (failure.status == dnnl_unimplemented) return nullptr;
    fail(what, failure.status);
  }
}

memory::desc weights_or_any(const std::optional<WeightLayout>& wanted, const memory::dims& dims,
                            ElementType type) {
  if (wanted) return wanted->descriptor().desc;
  return {dims, type_of(type), memory::format_tag::any};
}

/// Turns to another kernel, if there is one, where generating this one would read beyond the end of
/// a table. What is read there is not used, but AddressSanitizer's heap may have nothing mapped
/// behind it.
template <class Desc>
void avoid_reads_beyond(Desc& desc) {
#if defined(__SANITIZE_ADDRESS__)
  const auto reads_beyond = [&desc] {
    const std::string_view name = desc.impl_info_str();
    return kReadsBeyondTables && name.starts_with("brgconv") &&
           name.find("amx") != std::string_view::npos;
  };
  while (reads_beyond() && desc.next_impl()) {
  }
#else
  (void)desc;
#endif
}

/// Gradients of weights are f32 whatever the activations are.
ElementType weight_type(Pass pass, ElementType type) {
  return pass == Pass::weights ? ElementType::f32 : type;
}

}  // namespace

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "forward";
    case Pass::weights: return "weights";
    case Pass::data: return "data";
  }
  throw Defect("unknown pass");
}

std::shared_ptr<const PassPlan> plan_inner_product(const InnerProductShape& shape, Pass pass,
                                                   const std::optional<WeightLayout>& weights) {
  using dnnl::inner_product_backward_data;
  using dnnl::inner_product_backward_weights;
  using dnnl::inner_product_forward;
  const std::string what = fmt::format("inner product {}x{}x{}, {}", shape.rows, shape.inputs,
                                       shape.outputs, name_of(pass));
  return optimised(what, [&] {
    const memory::dims dims = {shape.outputs, shape.inputs};
    const ElementType input_type = pass == Pass::data ? shape.input_gradient_type : shape.type;
    const Tensors t{
        .input = {{shape.rows, shape.inputs}, type_of(input_type), memory::format_tag::ab},
        .weights = weights_or_any(weights, dims, weight_type(pass, shape.type)),
        .bias = {{shape.outputs}, memory::data_type::f32, memory::format_tag::a},
        .output = {{shape.rows, shape.outputs}, type_of(shape.type), memory::format_tag::ab}};
    const auto forward = [&](const memory::desc& input, const memory::desc& with, bool relu) {
      return described<inner_product_forward>(attributes({.relu = relu}),
                                              dnnl::prop_kind::forward_training, input, with,
                                              t.bias, t.output);
    };
    const auto planned = [&](const auto& desc, const memory::desc& chosen) {
      return std::make_shared<PlannedPass>(what, desc, arguments_of(pass, t, chosen),
                                           layout_of(chosen));
    };
    if (pass == Pass::forward) {
      const auto desc = forward(t.input, t.weights, shape.relu);
      return planned(desc, desc.weights_desc());
    }
    // oneDNN wants to know a forward pass that goes with a backward one, and looks at its shapes.
    const memory::desc input = {
        {shape.rows, shape.inputs}, type_of(shape.type), memory::format_tag::ab};
    const memory::desc any = weights_or_any(std::nullopt, dims, shape.type);
    const auto hint = forward(input, shape.type == ElementType::f32 ? t.weights : any, false);
    if (pass == Pass::weights) {
      const auto desc = described_after<inner_product_backward_weights>(
          hint, attributes(), t.input, t.weights, t.bias, t.output);
      return planned(desc, desc.diff_weights_desc());
    }
    const auto desc = described_after<inner_product_backward_data>(hint, attributes(), t.input,
                                                                   t.weights, t.output);
    return planned(desc, desc.weights_desc());
  });
}

std::shared_ptr<const PassPlan> plan_convolution(const Conv2dSpec& shape, Pass pass,
                                                 const std::optional<WeightLayout>& weights) {
  using dnnl::convolution_backward_data;
  using dnnl::convolution_backward_weights;
  using dnnl::convolution_forward;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const Conv2dSpec spec{.input = shape.input, .outputs = shape.outputs, .window = shape.window};
  const std::string what = fmt::format("{}, {}", key_of(spec), name_of(pass));
  return optimised(what, [&] {
    const Window& w = shape.window;
    const memory::dims dims = {shape.outputs, shape.input.channels, w.kernel_height,
                               w.kernel_width};
    const auto native = image_order(shape.type) == ImageOrder::blocked ? memory::format_tag::nChw16c
                                                                       : memory::format_tag::nhwc;
    const Tensors t{.input = {dims_of(shape.input.shape()), type_of(shape.type),
                              shape.plain_input ? memory::format_tag::nchw : native},
                    .weights = weights_or_any(weights, dims, weight_type(pass, shape.type)),
                    .bias = shape.bias ? memory::desc({shape.outputs}, memory::data_type::f32,
                                                      memory::format_tag::a)
                                       : memory::desc(),
                    .output = {dims_of(spec.output().shape()), type_of(shape.type), native}};
    const memory::dims strides = {w.stride_height, w.stride_width};
    const memory::dims padding = {w.padding_height, w.padding_width};
    const auto planned = [&](const auto& desc, const memory::desc& chosen) {
      return std::make_shared<PlannedPass>(what, desc, arguments_of(pass, t, chosen),
                                           layout_of(chosen));
    };
    auto forward = described<convolution_forward>(
        attributes({.add = shape.add}), dnnl::prop_kind::forward_training, kAlgorithm, t.input,
        pass == Pass::forward ? t.weights : weights_or_any(std::nullopt, dims, shape.type), t.bias,
        t.output, strides, padding, padding);
    if (pass == Pass::forward) {
      avoid_reads_beyond(forward);
      return planned(forward, forward.weights_desc());
    }
    if (pass == Pass::weights) {
      const auto desc = described_after<convolution_backward_weights>(
          forward, attributes(), kAlgorithm, t.input, t.weights, t.bias, t.output, strides, padding,
          padding);
      return planned(desc, desc.diff_weights_desc());
    }
    auto desc = described_after<convolution_backward_data>(
        forward, attributes(), kAlgorithm, t.input, t.weights, t.output, strides, padding, padding);
    avoid_reads_beyond(desc);
    return planned(desc, desc.weights_desc());
  });
}

}  // namespace ptbench::onednn
