#include "kernels/spec.h"

#include <fmt/format.h>

#include <cmath>

namespace ptbench {
namespace {

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
  return {.shape = image.shape(), .type = kept_type(type), .format = TensorFormat::native};
}

OperatorTensors like(const TensorSpec& tensor, bool input_gradient) {
  return {.inputs = {tensor}, .output = tensor, .input_gradient = input_gradient};
}

TensorSpec plain(Size rows, Size columns, ElementType type) {
  return {.shape = {rows, columns}, .type = kept_type(type), .format = TensorFormat::plain};
}

/// What spec.h tells of one kind of operator. An operator that leaves something out does not
/// compile; what it has none of, it says by a base.
template <class Spec>
struct Facts;

struct NoProducts {
  static Flops flops(const auto& /*spec*/) { return {}; }
};
struct NoParameters {
  static std::vector<ParameterSpec> parameters(const auto& /*spec*/) { return {}; }
};
struct NoBuffers {
  static std::vector<ParameterSpec> buffers(const auto& /*spec*/) { return {}; }
};

/// A pass of so many operations forward, and one or two backward.
Flops passes_of(double pass, bool input_gradient) {
  return {pass, input_gradient ? 2 * pass : pass};
}

template <>
struct Facts<LinearSpec> : NoBuffers {
  static std::string key(const LinearSpec& s) {
    return fmt::format("linear b{} {}->{}{}{}{}", s.batch, s.inputs, s.outputs,
                       s.relu ? " relu" : "", first_suffix(s.input_gradient), type_suffix(s.type));
  }
  static Flops flops(const LinearSpec& s) {
    return passes_of(2.0 * static_cast<double>(s.batch) * static_cast<double>(s.inputs) *
                         static_cast<double>(s.outputs),
                     s.input_gradient);
  }
  static OperatorTensors tensors(const LinearSpec& s) {
    return {.inputs = {plain(s.batch, s.inputs, s.type)},
            .output = plain(s.batch, s.outputs, s.type),
            .input_gradient = s.input_gradient};
  }
  /// nn.Linear: kaiming_uniform(a = √5) is U(±1/√inputs), and so is the bias.
  static std::vector<ParameterSpec> parameters(const LinearSpec& s) {
    const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.inputs)));
    return {{.name = "weight", .shape = {s.outputs, s.inputs}, .spread = bound},
            {.name = "bias", .shape = {s.outputs}, .spread = bound}};
  }
};

template <>
struct Facts<Conv2dSpec> : NoBuffers {
  static std::string key(const Conv2dSpec& s) {
    return fmt::format("conv2d {}->{} {}{}{}{}{}{}{}", text_of(s.input), s.outputs,
                       text_of(s.window), s.bias ? " bias" : "", s.add ? " add" : "",
                       s.relu ? " relu" : "", s.plain_input ? " plain" : "",
                       first_suffix(s.input_gradient), type_suffix(s.type));
  }
  static Flops flops(const Conv2dSpec& s) {
    return passes_of(2.0 * static_cast<double>(s.output().elements()) *
                         static_cast<double>(s.input.channels) *
                         static_cast<double>(s.window.kernel_height * s.window.kernel_width),
                     s.input_gradient);
  }
  static OperatorTensors tensors(const Conv2dSpec& s) {
    TensorSpec input = native(s.input, s.type);
    if (s.plain_input) input.format = TensorFormat::plain;
    const TensorSpec output = native(s.output(), s.type);
    OperatorTensors tensors{
        .inputs = {input}, .output = output, .input_gradient = s.input_gradient};
    if (s.add) tensors.inputs.push_back(output);
    return tensors;
  }
  /// nn.Conv2d, as nn.Linear: inputs are channels × kernel.
  static std::vector<ParameterSpec> parameters(const Conv2dSpec& s) {
    const Window& w = s.window;
    // In double: models are checked by the sizes of their parameters.
    const double inputs = static_cast<double>(s.input.channels) *
                          static_cast<double>(w.kernel_height) *
                          static_cast<double>(w.kernel_width);
    const auto bound = static_cast<float>(1.0 / std::sqrt(inputs));
    std::vector<ParameterSpec> parameters = {
        {.name = "weight",
         .shape = {s.outputs, s.input.channels, w.kernel_height, w.kernel_width},
         .spread = bound}};
    if (s.bias) parameters.push_back({.name = "bias", .shape = {s.outputs}, .spread = bound});
    return parameters;
  }
};

template <>
struct Facts<BatchNormSpec> : NoProducts {
  static std::string key(const BatchNormSpec& s) {
    return fmt::format("batch_norm {}{}{}{}{}{}", text_of(s.input), s.add ? " add" : "",
                       s.relu ? " relu" : "", terms_suffix(s.gradient_terms),
                       first_suffix(s.input_gradient), type_suffix(s.type));
  }
  static OperatorTensors tensors(const BatchNormSpec& s) {
    const TensorSpec image = native(s.input, s.type);
    OperatorTensors tensors = like(image, s.input_gradient);
    if (s.add) tensors.inputs.push_back(image);
    tensors.gradient_terms = s.gradient_terms;
    return tensors;
  }
  static std::vector<ParameterSpec> parameters(const BatchNormSpec& s) {
    return {{.name = "weight", .shape = {s.input.channels}, .center = 1},
            {.name = "bias", .shape = {s.input.channels}}};
  }
  static std::vector<ParameterSpec> buffers(const BatchNormSpec& s) {
    return {{.name = "running_mean", .shape = {s.input.channels}},
            {.name = "running_var", .shape = {s.input.channels}, .center = 1}};
  }
};

template <>
struct Facts<ReluSpec> : NoProducts, NoParameters, NoBuffers {
  static std::string key(const ReluSpec& s) {
    return fmt::format("relu {}{}{}", text_of(s.tensor), first_suffix(s.input_gradient),
                       type_suffix(s.tensor.type));
  }
  static OperatorTensors tensors(const ReluSpec& s) { return like(s.tensor, s.input_gradient); }
};

template <>
struct Facts<GeluSpec> : NoProducts, NoParameters, NoBuffers {
  static std::string key(const GeluSpec& s) {
    return fmt::format("gelu {}{}{}", text_of(s.tensor), first_suffix(s.input_gradient),
                       type_suffix(s.tensor.type));
  }
  static OperatorTensors tensors(const GeluSpec& s) { return like(s.tensor, s.input_gradient); }
};

template <>
struct Facts<AddSpec> : NoProducts, NoParameters, NoBuffers {
  static std::string key(const AddSpec& s) {
    return fmt::format("add {}{}", text_of(s.tensor), type_suffix(s.tensor.type));
  }
  static OperatorTensors tensors(const AddSpec& s) {
    OperatorTensors tensors = like(s.tensor, true);
    tensors.inputs.push_back(s.tensor);
    return tensors;
  }
};

template <>
struct Facts<ForkSpec> : NoProducts, NoParameters, NoBuffers {
  static std::string key(const ForkSpec& s) {
    return fmt::format("fork {}{}{}", text_of(s.tensor), terms_suffix(s.gradient_terms),
                       type_suffix(s.tensor.type));
  }
  static OperatorTensors tensors(const ForkSpec& s) {
    OperatorTensors tensors = like(s.tensor, true);
    tensors.gradient_terms = s.gradient_terms;
    return tensors;
  }
};

template <>
struct Facts<PoolSpec> : NoProducts, NoParameters, NoBuffers {
  static std::string key(const PoolSpec& s) {
    return fmt::format("{}_pool {} {}{}{}", s.kind == PoolKind::max ? "max" : "average",
                       text_of(s.input), text_of(s.window), first_suffix(s.input_gradient),
                       type_suffix(s.type));
  }
  static OperatorTensors tensors(const PoolSpec& s) {
    return {.inputs = {native(s.input, s.type)},
            .output = native(s.output(), s.type),
            .input_gradient = s.input_gradient};
  }
};

template <>
struct Facts<ReorderSpec> : NoProducts, NoParameters, NoBuffers {
  static std::string key(const ReorderSpec& s) {
    return fmt::format("reorder {} {} -> {} {}{}", text_of(s.from), name_of(s.from.type),
                       text_of(s.to), name_of(s.to.type), first_suffix(s.input_gradient));
  }
  static OperatorTensors tensors(const ReorderSpec& s) {
    return {.inputs = {s.from}, .output = s.to, .input_gradient = s.input_gradient};
  }
};

template <>
struct Facts<SoftmaxCrossEntropySpec> : NoProducts, NoParameters, NoBuffers {
  static std::string key(const SoftmaxCrossEntropySpec& s) {
    return fmt::format("softmax_cross_entropy b{} {}{}", s.batch, s.classes, type_suffix(s.type));
  }
  static OperatorTensors tensors(const SoftmaxCrossEntropySpec& s) {
    return {.inputs = {plain(s.batch, s.classes, s.type)},
            .output = std::nullopt,
            .labels = s.batch,
            .gradient_terms = 0};
  }
};

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
  return std::visit([]<class Spec>(const Spec& s) { return Facts<Spec>::key(s); }, spec);
}

Flops flops_of(const OperatorSpec& spec) {
  return std::visit([]<class Spec>(const Spec& s) { return Facts<Spec>::flops(s); }, spec);
}

OperatorTensors tensors_of(const OperatorSpec& spec) {
  return std::visit([]<class Spec>(const Spec& s) { return Facts<Spec>::tensors(s); }, spec);
}

bool backward_reads_output(const OperatorSpec& spec) {
  // Only where the rectifier was open shows in the output of a batch norm.
  if (const auto* norm = std::get_if<BatchNormSpec>(&spec)) return norm->relu;
  return !std::holds_alternative<AddSpec>(spec);
}

bool backward_reads_input(const OperatorSpec& spec, std::size_t input) {
  if (std::holds_alternative<BatchNormSpec>(spec)) return input == 0;  // not what it adds
  return !std::holds_alternative<AddSpec>(spec);
}

ElementType products_of(const OperatorSpec& spec) {
  if (const auto* linear = std::get_if<LinearSpec>(&spec)) return linear->type;
  if (const auto* conv2d = std::get_if<Conv2dSpec>(&spec)) return conv2d->type;
  return tensors_of(spec).inputs.front().type;
}

std::vector<ParameterSpec> parameters_of(const OperatorSpec& spec) {
  return std::visit([]<class Spec>(const Spec& s) { return Facts<Spec>::parameters(s); }, spec);
}

std::vector<ParameterSpec> buffers_of(const OperatorSpec& spec) {
  return std::visit([]<class Spec>(const Spec& s) { return Facts<Spec>::buffers(s); }, spec);
}

Size elements_of(std::span<const ParameterSpec> tensors) {
  Size elements = 0;
  for (const ParameterSpec& tensor : tensors) elements += tensor.shape.elements();
  return elements;
}

}  // namespace ptbench
