#include "workloads/graph.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

/// Shape of one sample that enters `node`.
Shape input_of(const Graph& graph, const Node& node, const std::vector<Shape>& shapes) {
  ensure(node.inputs.size() == 1, "linear and relu take one input");
  const Size source = node.inputs.front();
  if (source < 0) return graph.input_shape;
  ensure(source < static_cast<Size>(shapes.size()), "inputs come before their users");
  return shapes[static_cast<std::size_t>(source)];
}

Shape output_of(const Node& node, const Shape& input) {
  if (const auto* linear = std::get_if<LinearLayer>(&node.layer)) {
    if (linear->outputs < 1)
      throw usage_error(
          fmt::format("layer '{}' has {} outputs", printable(node.name), linear->outputs),
          "give it at least one");
    return Shape{linear->outputs};
  }
  return input;
}

}  // namespace

std::vector<Shape> Graph::output_shapes() const {
  std::vector<Shape> shapes;
  shapes.reserve(nodes.size());
  for (const Node& node : nodes) shapes.push_back(output_of(node, input_of(*this, node, shapes)));
  if (shapes.empty() || shapes.back() != Shape{classes})
    throw usage_error(fmt::format("the last layer gives {} values, the model has {} classes",
                                  shapes.empty() ? "no" : shapes.back().text(), classes),
                      "let the last layer give one value a class");
  return shapes;
}

Size Graph::parameter_count() const {
  Size count = 0;
  const std::vector<Shape> shapes = output_shapes();
  for (const Node& node : nodes)
    if (const auto* linear = std::get_if<LinearLayer>(&node.layer))
      count += linear->outputs * (input_of(*this, node, shapes).elements() + 1);
  return count;
}

double Graph::flops_per_sample() const {
  double flops = 0;
  const std::vector<Shape> shapes = output_shapes();
  for (const Node& node : nodes)
    if (const auto* linear = std::get_if<LinearLayer>(&node.layer)) {
      const Flops passes = flops_of(LinearSpec{.batch = 1,
                                               .inputs = input_of(*this, node, shapes).elements(),
                                               .outputs = linear->outputs,
                                               .relu = false,
                                               .input_gradient = node.inputs.front() >= 0});
      flops += passes.forward + passes.backward;
    }
  return flops;
}

}  // namespace ptbench
