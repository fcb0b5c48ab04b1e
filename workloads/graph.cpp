#include "workloads/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "workloads/layers.h"

namespace ptbench {
namespace {

/// Product of factors of at least 1; kMostElements + 1 stands for everything above kMostElements.
Size saturating_product(std::span<const Size> factors) {
  Size product = 1;
  for (const Size factor : factors) {
    if (factor > kMostElements / product) return kMostElements + 1;
    product *= factor;
  }
  return product;
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
  const std::size_t wanted =
      std::visit([]<class L>(const L& /*layer*/) { return LayerTraits<L>::kInputs; }, node.layer);
  ensure(inputs.size() == wanted, "every layer has as many inputs as it takes");
  return inputs;
}

/// The operator that computes a layer for one sample.
OperatorSpec operator_of_one(const Layer& layer, const Shape& input, bool input_gradient) {
  std::vector<Size> dimensions{1};
  for (const Size dimension : input.dimensions()) dimensions.push_back(dimension);
  return operator_of(layer, {.tensor = {.shape = Shape(dimensions)}, .gradient = input_gradient});
}

/// Scalars that training changes in one layer, which fits its input; more than kMostElements where
/// there are more.
Size parameters_in(const Layer& layer, const Shape& input) {
  Size count = 0;
  for (const ParameterSpec& tensor : parameters_of(operator_of_one(layer, input, false)))
    count += saturating_product(tensor.shape.dimensions());
  return count;
}

void check_input(const Shape& shape) {
  const auto dimensions = shape.dimensions();
  Size elements = 1;
  for (const Size dimension : dimensions)
    if (elements > 0)
      elements = dimension < 1 ? 0 : saturating_product(std::array{elements, dimension});
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
  throw LayerSite(last.name, {})
      .misfit(fmt::format("is the last one and gives {}, and the model has {} classes",
                          described(shape), classes),
              "let the last layer give a row with one value for each class");
}

/// "conv2d {"outputs":64,"kernel":3}", with the keys that are not at their defaults.
std::string text_of(const Layer& layer) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  const std::string_view type = write_layer(layer, fields);
  return fmt::format("{} {}", type, fields.dump());
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
    const LayerSite site(node.name, inputs);
    const Shape shape = std::visit(
        [&]<class L>(const L& layer) { return LayerTraits<L>::shape(layer, site); }, node.layer);
    if (saturating_product(shape.dimensions()) > kMostElements)
      throw site.misfit(fmt::format("gives {}, more than 2^40 values", described(shape)),
                        "make the model smaller");
    parameters += parameters_in(node.layer, inputs.front());
    if (parameters > kMostElements)
      throw site.misfit("brings the model to more than 2^40 parameters", "make the model smaller");
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
    const Flops passes = flops_of(operator_of_one(node.layer, input, input_gradient));
    flops += passes.forward + passes.backward;
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
    return std::visit([]<class L>(const L& layer) { return LayerTraits<L>::bends(layer); },
                      node.layer);
  });
}

std::string graph_digest(const Graph& graph) {
  std::string text = fmt::format("input {}\nclasses {}\n", graph.input_shape.text(), graph.classes);
  for (const Node& node : graph.nodes)
    text += fmt::format("{} of {}\n", text_of(node.layer), fmt::join(node.inputs, ","));
  text += "loss mean_cross_entropy";
  return fmt::format("{:016x}", fnv1a(text));
}

}  // namespace ptbench
