#include <fmt/format.h>

#include "src/base/error.h"
#include "workloads/program.h"

namespace ptbench {
namespace {

/// Every node but the last feeds exactly one later node, the next one.
bool is_chain(const Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].inputs != std::vector<Size>{static_cast<Size>(i) - 1}) return false;
  return true;
}

}  // namespace

std::vector<LoweredOperator> lower(const Graph& graph, Size batch, Size global_batch) {
  ensure(is_chain(graph), "the graph is a chain of layers");
  const std::vector<Shape> shapes = graph.output_shapes();
  std::vector<LoweredOperator> operators;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Size inputs = (i == 0 ? graph.input_shape : shapes[i - 1]).elements();
    const bool first = operators.empty();
    if (const auto* linear = std::get_if<LinearLayer>(&node.layer)) {
      operators.push_back({.spec = LinearSpec{.batch = batch,
                                              .inputs = inputs,
                                              .outputs = linear->outputs,
                                              .relu = false,
                                              .input_gradient = !first},
                           .node = node.name});
      continue;
    }
    auto* before = first ? nullptr : std::get_if<LinearSpec>(&operators.back().spec);
    if (before != nullptr)
      before->relu = true;  // the only user of the layer before: one pass less over its output
    else
      operators.push_back({.spec = ReluSpec{.elements = batch * inputs, .input_gradient = !first},
                           .node = node.name});
  }
  operators.push_back({.spec = SoftmaxCrossEntropySpec{.batch = batch,
                                                       .classes = graph.classes,
                                                       .global_batch = global_batch},
                       .node = "loss"});
  return operators;
}

MemoryPrediction estimate_memory(const Graph& graph, Size batch, const OptimizerSpec& optimizer) {
  // In double: a product of absurd sizes must be large, not negative.
  const auto bytes = [](double elements) {
    constexpr double kMost = 9e18;
    const double wanted = elements * sizeof(float);
    return static_cast<Bytes>(wanted < kMost ? wanted : kMost);
  };
  const auto parameters = static_cast<double>(graph.parameter_count());
  double activations = static_cast<double>(graph.input_shape.elements()) / 2;  // has no gradient
  const std::vector<Shape> shapes = graph.output_shapes();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!std::holds_alternative<ReluLayer>(graph.nodes[i].layer) || i == 0)
      activations += static_cast<double>(shapes[i].elements());
  return {.parameters = bytes(parameters),
          .gradients = bytes(parameters),
          .optimizer = bytes(parameters * optimizer.state_arenas()),
          .activations = bytes(2 * activations * static_cast<double>(batch)),
          .workspace = 0};
}

}  // namespace ptbench
