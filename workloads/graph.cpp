#include "workloads/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

/// Product of factors of at least 1; kMostElements + 1 stands for everything above kMostElements.
Size saturating_product(std::initializer_list<Size> factors) {
  Size product = 1;
  for (const Size factor : factors) {
    if (factor > kMostElements / product) return kMostElements + 1;
    product *= factor;
  }
  return product;
}

bool is_row(const Shape& shape) { return shape.rank() == 1; }
bool is_image(const Shape& shape) { return shape.rank() == 3; }

/// "a row of 10", "an image of 3x32x32".
std::string described(const Shape& shape) {
  return fmt::format("{} of {}", is_image(shape) ? "an image" : "a row", shape.text());
}

Error misfit(const Node& node, const std::string& what, std::string remedy) {
  return usage_error(fmt::format("layer '{}' {}", printable(node.name), what), std::move(remedy));
}

/// One sample of an image; of a row, each value is a channel of one pixel.
ImageShape one_image(const Shape& shape) {
  if (is_row(shape)) return {.batch = 1, .channels = shape[0], .height = 1, .width = 1};
  return {.batch = 1, .channels = shape[0], .height = shape[1], .width = shape[2]};
}

/// Shapes of one sample that enter `node`.
std::vector<Shape> inputs_of(const Graph& graph, const Node& node,
                             const std::vector<Shape>& shapes) {
  std::vector<Shape> inputs;
  for (const Size source : node.inputs) {
    ensure(source >= -1 && source < static_cast<Size>(shapes.size()),
           "inputs come before their users");
    inputs.push_back(source < 0 ? graph.input_shape : shapes[static_cast<std::size_t>(source)]);
  }
  ensure(inputs.size() == (std::holds_alternative<AddLayer>(node.layer) ? 2U : 1U),
         "add takes two inputs, every other layer one");
  return inputs;
}

/// What a layer makes of one sample; called with each kind of layer.
class ShapeRule {
 public:
  ShapeRule(const Node& node, const std::vector<Shape>& inputs) : node_(node), inputs_(inputs) {}

  Shape operator()(const LinearLayer& layer) const {
    if (!is_row(input()))
      throw misfit(node_, fmt::format("is linear and wants a row, and gets {}", described(input())),
                   "put a flatten layer before it");
    check_outputs(layer.outputs);
    return {layer.outputs};
  }
  Shape operator()(const Conv2dLayer& layer) const {
    check_outputs(layer.outputs);
    return windowed(layer.outputs, layer.window);
  }
  Shape operator()(const BatchNormLayer& /*layer*/) const { return input(); }
  Shape operator()(const ReluLayer& /*layer*/) const { return input(); }
  Shape operator()(const GeluLayer& /*layer*/) const { return input(); }
  Shape operator()(const PoolLayer& layer) const {
    const Window& w = layer.window;
    require_image();
    check_window(w);
    check_area(w.kernel_height, w.kernel_width);
    // As PyTorch: beyond it, whole windows would lie in the padding.
    if (w.padding_height > w.kernel_height / 2 || w.padding_width > w.kernel_width / 2)
      throw misfit(node_,
                   fmt::format("pools over {}x{} with a padding of {}x{}", w.kernel_height,
                               w.kernel_width, w.padding_height, w.padding_width),
                   "pad by at most half the kernel");
    return windowed(input()[0], w);
  }
  Shape operator()(const GlobalPoolLayer& /*layer*/) const {
    require_image();
    check_area(input()[1], input()[2]);
    return {input()[0], 1, 1};
  }
  Shape operator()(const FlattenLayer& /*layer*/) const {
    require_image();
    return {input().elements()};
  }
  Shape operator()(const AddLayer& /*layer*/) const {
    if (inputs_[0] != inputs_[1])
      throw misfit(node_,
                   fmt::format("adds {} to {}", described(inputs_[1]), described(inputs_[0])),
                   "add tensors of the same shape");
    return input();
  }

 private:
  [[nodiscard]] const Shape& input() const { return inputs_.front(); }

  /// A pool looks at all of a window at once.
  void check_area(Size height, Size width) const {
    constexpr Size kMost = Size{1} << 24U;
    if (height > kMost || width > kMost || height * width > kMost)
      throw misfit(node_, fmt::format("pools over {}x{} values", height, width),
                   "pool over at most 2^24 at a time");
  }

  void require_image() const {
    if (!is_image(input()))
      throw misfit(node_, fmt::format("wants an image, and gets {}", described(input())),
                   "give it channels x height x width, or leave it out");
  }

  void check_outputs(Size outputs) const {
    if (outputs < 1 || outputs > kMostElements)
      throw misfit(node_, fmt::format("has {} outputs", outputs), "give it from 1 to 2^40");
  }

  void check_window(const Window& w) const {
    const auto [least, most] =
        std::minmax({w.kernel_height, w.kernel_width, w.stride_height, w.stride_width});
    const auto [least_padding, most_padding] = std::minmax(w.padding_height, w.padding_width);
    if (least < 1 || least_padding < 0 || most > kMostElements || most_padding > kMostElements)
      throw misfit(node_,
                   fmt::format("has a kernel of {}x{}, a stride of {}x{} and a padding of {}x{}",
                               w.kernel_height, w.kernel_width, w.stride_height, w.stride_width,
                               w.padding_height, w.padding_width),
                   "give kernels and strides from 1 and paddings from 0, up to 2^40");
  }

  [[nodiscard]] Shape windowed(Size channels, const Window& w) const {
    require_image();
    check_window(w);
    const Size height = w.output_height(input()[1]);
    const Size width = w.output_width(input()[2]);
    if (height < 1 || width < 1)
      throw misfit(node_,
                   fmt::format("has a kernel of {}x{}, and its input with padding is {}x{}",
                               w.kernel_height, w.kernel_width, input()[1] + 2 * w.padding_height,
                               input()[2] + 2 * w.padding_width),
                   "take a smaller kernel, more padding, or fewer strides and pools before it");
    return {channels, height, width};
  }

  const Node& node_;
  const std::vector<Shape>& inputs_;
};

/// Scalars that training changes in one layer, which fits its input; more than kMostElements where
/// there are more.
Size parameters_in(const Layer& layer, const Shape& input) {
  if (const auto* linear = std::get_if<LinearLayer>(&layer))
    return saturating_product({linear->outputs, input[0]}) + linear->outputs;
  if (const auto* conv = std::get_if<Conv2dLayer>(&layer))
    return saturating_product(
               {conv->outputs, input[0], conv->window.kernel_height, conv->window.kernel_width}) +
           (conv->bias ? conv->outputs : 0);
  return std::holds_alternative<BatchNormLayer>(layer) ? 2 * input[0] : 0;
}

void check_input(const Shape& shape) {
  const auto dimensions = shape.dimensions();
  Size elements = 1;
  for (const Size dimension : dimensions)
    if (elements > 0) elements = dimension < 1 ? 0 : saturating_product({elements, dimension});
  if ((!is_row(shape) && !is_image(shape)) || elements < 1)
    throw usage_error(fmt::format("the model's input has the shape '{}'", shape.text()),
                      "give a row, or an image: channels, height and width, all from 1");
  if (elements > kMostElements)
    throw usage_error(
        fmt::format("the model's input, {}, has more than 2^40 values", described(shape)),
        "make it smaller");
}

void check_logits(const Node& last, const Shape& shape, Size classes) {
  if (shape == Shape{classes}) return;
  throw misfit(last,
               fmt::format("is the last one and gives {}, and the model has {} classes",
                           described(shape), classes),
               "let the last layer give a row with one value a class");
}

/// What a layer computes for one sample, where that counts as operations.
std::optional<OperatorSpec> counted_spec(const Layer& layer, const Shape& input,
                                         bool input_gradient) {
  if (const auto* linear = std::get_if<LinearLayer>(&layer))
    return LinearSpec{.batch = 1,
                      .inputs = input[0],
                      .outputs = linear->outputs,
                      .input_gradient = input_gradient};
  if (const auto* conv = std::get_if<Conv2dLayer>(&layer))
    return Conv2dSpec{.input = one_image(input),
                      .outputs = conv->outputs,
                      .window = conv->window,
                      .bias = conv->bias,
                      .input_gradient = input_gradient};
  return std::nullopt;
}

}  // namespace

std::vector<Shape> Graph::output_shapes() const {
  check_input(input_shape);
  if (nodes.empty()) throw usage_error("the model has no layers", "give it at least one");
  std::vector<Shape> shapes;
  shapes.reserve(nodes.size());
  Size parameters = 0;
  for (const Node& node : nodes) {
    const std::vector<Shape> inputs = inputs_of(*this, node, shapes);
    const Shape shape = std::visit(ShapeRule(node, inputs), node.layer);
    const ImageShape image = one_image(shape);
    if (saturating_product({image.channels, image.height, image.width}) > kMostElements)
      throw misfit(node, fmt::format("gives {}, more than 2^40 values", described(shape)),
                   "make the model smaller");
    parameters += parameters_in(node.layer, inputs.front());
    if (parameters > kMostElements)
      throw misfit(node, "brings the model to more than 2^40 parameters", "make the model smaller");
    shapes.push_back(shape);
  }
  check_logits(nodes.back(), shapes.back(), classes);
  if (parameters == 0)
    throw usage_error("the model has no parameters, so there is nothing to train",
                      "add a linear layer, a convolution or a batch norm");
  return shapes;
}

Size Graph::parameter_count() const {
  Size count = 0;
  const std::vector<Shape> shapes = output_shapes();
  for (const Node& node : nodes)
    count += parameters_in(node.layer, inputs_of(*this, node, shapes).front());
  return count;
}

double Graph::flops_per_sample() const {
  double flops = 0;
  const std::vector<Shape> shapes = output_shapes();
  std::vector<bool> trained;  // whether the node or anything before it has parameters
  for (const Node& node : nodes) {
    const Shape input = inputs_of(*this, node, shapes).front();
    const bool input_gradient = std::ranges::any_of(node.inputs, [&](Size source) {
      return source >= 0 && trained[static_cast<std::size_t>(source)];
    });
    if (const auto spec = counted_spec(node.layer, input, input_gradient)) {
      const Flops passes = flops_of(*spec);
      flops += passes.forward + passes.backward;
    }
    trained.push_back(input_gradient || parameters_in(node.layer, input) > 0);
  }
  return flops;
}

double Graph::activation_bytes_per_sample(ElementType type) const {
  double bytes = 0;
  for (const Shape& shape : output_shapes())
    bytes += static_cast<double>(shape.elements()) * static_cast<double>(bytes_of(type));
  return bytes;
}

bool Graph::has_batch_norm() const {
  return std::ranges::any_of(
      nodes, [](const Node& node) { return std::holds_alternative<BatchNormLayer>(node.layer); });
}

Size Graph::nonlinear_layers() const {
  return std::ranges::count_if(nodes, [](const Node& node) {
    const auto* const pool = std::get_if<PoolLayer>(&node.layer);
    return std::holds_alternative<ReluLayer>(node.layer) ||
           std::holds_alternative<GeluLayer>(node.layer) ||
           (pool != nullptr && pool->kind == PoolKind::max);
  });
}

}  // namespace ptbench
