#include "kernels/spec.h"

#include <fmt/format.h>

#include <cmath>

namespace ptbench {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

Size positions(Size size, Size kernel, Size stride, Size padding) {
  const Size room = size + 2 * padding - kernel;
  return room < 0 ? 0 : room / stride + 1;
}

std::string text_of(const ImageShape& image) {
  return fmt::format("b{} {}x{}x{}", image.batch, image.channels, image.height, image.width);
}

std::string text_of(const Window& w) {
  return fmt::format("k{}x{} s{}x{} p{}x{}", w.kernel_height, w.kernel_width, w.stride_height,
                     w.stride_width, w.padding_height, w.padding_width);
}

std::string text_of(const TensorSpec& tensor) {
  return fmt::format("{}{}", tensor.shape.text(),
                     tensor.format == TensorFormat::native ? " native" : "");
}

/// f32 goes without saying.
std::string type_suffix(ElementType type) {
  return type == ElementType::f32 ? "" : fmt::format(" {}", name_of(type));
}

std::string_view first_suffix(bool input_gradient) { return input_gradient ? "" : " first"; }

std::string terms_suffix(Size terms) { return terms == 1 ? "" : fmt::format(" of {}", terms); }

TensorSpec native(const ImageShape& image, ElementType type) {
  return {.shape = image.shape(), .type = type, .format = TensorFormat::native};
}

OperatorTensors like(const TensorSpec& tensor, bool input_gradient) {
  return {.inputs = {tensor}, .output = tensor, .input_gradient = input_gradient};
}

}  // namespace

Size Window::output_height(Size height) const {
  return positions(height, kernel_height, stride_height, padding_height);
}
Size Window::output_width(Size width) const {
  return positions(width, kernel_width, stride_width, padding_width);
}

ImageShape Conv2dSpec::output() const {
  return {.batch = input.batch,
          .channels = outputs,
          .height = window.output_height(input.height),
          .width = window.output_width(input.width)};
}

ImageShape PoolSpec::output() const {
  return {.batch = input.batch,
          .channels = input.channels,
          .height = window.output_height(input.height),
          .width = window.output_width(input.width)};
}

std::string key_of(const OperatorSpec& spec) {
  return std::visit(
      Overloaded{
          [](const LinearSpec& s) {
            return fmt::format("linear b{} {}->{}{}{}{}", s.batch, s.inputs, s.outputs,
                               s.relu ? " relu" : "", first_suffix(s.input_gradient),
                               type_suffix(s.type));
          },
          [](const Conv2dSpec& s) {
            return fmt::format("conv2d {}->{} {}{}{}{}{}", text_of(s.input), s.outputs,
                               text_of(s.window), s.bias ? " bias" : "",
                               s.plain_input ? " plain" : "", first_suffix(s.input_gradient),
                               type_suffix(s.type));
          },
          [](const BatchNormSpec& s) {
            return fmt::format("batch_norm {}{}{}{}{}{}", text_of(s.input), s.add ? " add" : "",
                               s.relu ? " relu" : "", terms_suffix(s.gradient_terms),
                               first_suffix(s.input_gradient), type_suffix(s.type));
          },
          [](const ReluSpec& s) {
            return fmt::format("relu {}{}{}", text_of(s.tensor), first_suffix(s.input_gradient),
                               type_suffix(s.tensor.type));
          },
          [](const GeluSpec& s) {
            return fmt::format("gelu {}{}{}", text_of(s.tensor), first_suffix(s.input_gradient),
                               type_suffix(s.tensor.type));
          },
          [](const AddSpec& s) {
            return fmt::format("add {}{}", text_of(s.tensor), type_suffix(s.tensor.type));
          },
          [](const ForkSpec& s) {
            return fmt::format("fork {}{}{}", text_of(s.tensor), terms_suffix(s.gradient_terms),
                               type_suffix(s.tensor.type));
          },
          [](const PoolSpec& s) {
            return fmt::format("{}_pool {} {}{}{}", s.kind == PoolKind::max ? "max" : "average",
                               text_of(s.input), text_of(s.window), first_suffix(s.input_gradient),
                               type_suffix(s.type));
          },
          [](const ReorderSpec& s) {
            return fmt::format("reorder {} {} -> {} {}{}", text_of(s.from), name_of(s.from.type),
                               text_of(s.to), name_of(s.to.type), first_suffix(s.input_gradient));
          },
          [](const SoftmaxCrossEntropySpec& s) {
            return fmt::format("softmax_cross_entropy b{} {}{}", s.batch, s.classes,
                               type_suffix(s.type));
          },
      },
      spec);
}

Flops flops_of(const OperatorSpec& spec) {
  double pass = 0;
  bool input_gradient = false;
  if (const auto* linear = std::get_if<LinearSpec>(&spec)) {
    pass = 2.0 * static_cast<double>(linear->batch) * static_cast<double>(linear->inputs) *
           static_cast<double>(linear->outputs);
    input_gradient = linear->input_gradient;
  } else if (const auto* conv = std::get_if<Conv2dSpec>(&spec)) {
    const Window& w = conv->window;
    pass = 2.0 * static_cast<double>(conv->output().elements()) *
           static_cast<double>(conv->input.channels) *
           static_cast<double>(w.kernel_height * w.kernel_width);
    input_gradient = conv->input_gradient;
  }
  return {pass, input_gradient ? 2 * pass : pass};
}

OperatorTensors tensors_of(const OperatorSpec& spec) {
  const auto plain = [](Size rows, Size columns, ElementType type) {
    return TensorSpec{.shape = {rows, columns}, .type = type, .format = TensorFormat::plain};
  };
  return std::visit(Overloaded{
                        [&](const LinearSpec& s) {
                          return OperatorTensors{.inputs = {plain(s.batch, s.inputs, s.type)},
                                                 .output = plain(s.batch, s.outputs, s.type),
                                                 .input_gradient = s.input_gradient};
                        },
                        [](const Conv2dSpec& s) {
                          TensorSpec input = native(s.input, s.type);
                          if (s.plain_input) input.format = TensorFormat::plain;
                          return OperatorTensors{.inputs = {input},
                                                 .output = native(s.output(), s.type),
                                                 .input_gradient = s.input_gradient};
                        },
                        [](const BatchNormSpec& s) {
                          const TensorSpec image = native(s.input, s.type);
                          OperatorTensors tensors = like(image, s.input_gradient);
                          if (s.add) tensors.inputs.push_back(image);
                          tensors.gradient_terms = s.gradient_terms;
                          return tensors;
                        },
                        [](const ReluSpec& s) { return like(s.tensor, s.input_gradient); },
                        [](const GeluSpec& s) { return like(s.tensor, s.input_gradient); },
                        [](const AddSpec& s) {
                          OperatorTensors tensors = like(s.tensor, true);
                          tensors.inputs.push_back(s.tensor);
                          return tensors;
                        },
                        [](const ForkSpec& s) {
                          OperatorTensors tensors = like(s.tensor, true);
                          tensors.gradient_terms = s.gradient_terms;
                          return tensors;
                        },
                        [](const PoolSpec& s) {
                          return OperatorTensors{.inputs = {native(s.input, s.type)},
                                                 .output = native(s.output(), s.type),
                                                 .input_gradient = s.input_gradient};
                        },
                        [](const ReorderSpec& s) {
                          return OperatorTensors{.inputs = {s.from},
                                                 .output = s.to,
                                                 .input_gradient = s.input_gradient};
                        },
                        [&](const SoftmaxCrossEntropySpec& s) {
                          return OperatorTensors{.inputs = {plain(s.batch, s.classes, s.type)},
                                                 .output = std::nullopt,
                                                 .labels = s.batch,
                                                 .gradient_terms = 0};
                        },
                    },
                    spec);
}

std::vector<ParameterSpec> parameters_of(const OperatorSpec& spec) {
  if (const auto* s = std::get_if<LinearSpec>(&spec)) {
    // nn.Linear: kaiming_uniform(a = √5) is U(±1/√inputs), and so is the bias.
    const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s->inputs)));
    return {{.name = "weight", .shape = {s->outputs, s->inputs}, .spread = bound},
            {.name = "bias", .shape = {s->outputs}, .spread = bound}};
  }
  if (const auto* s = std::get_if<Conv2dSpec>(&spec)) {
    // nn.Conv2d, likewise: inputs are channels × kernel.
    const Window& w = s->window;
    const auto inputs = static_cast<double>(s->input.channels * w.kernel_height * w.kernel_width);
    const auto bound = static_cast<float>(1.0 / std::sqrt(inputs));
    std::vector<ParameterSpec> parameters = {
        {.name = "weight",
         .shape = {s->outputs, s->input.channels, w.kernel_height, w.kernel_width},
         .spread = bound}};
    if (s->bias) parameters.push_back({.name = "bias", .shape = {s->outputs}, .spread = bound});
    return parameters;
  }
  if (const auto* s = std::get_if<BatchNormSpec>(&spec))
    return {{.name = "weight", .shape = {s->input.channels}, .center = 1},
            {.name = "bias", .shape = {s->input.channels}}};
  return {};
}

std::vector<ParameterSpec> buffers_of(const OperatorSpec& spec) {
  if (const auto* s = std::get_if<BatchNormSpec>(&spec))
    return {{.name = "running_mean", .shape = {s->input.channels}},
            {.name = "running_var", .shape = {s->input.channels}, .center = 1}};
  return {};
}

}  // namespace ptbench
