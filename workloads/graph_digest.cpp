#include "workloads/graph_digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "src/base/hash.h"
#include "workloads/layers.h"

namespace ptbench {
namespace {

/// "conv2d {"outputs":64,"kernel":3}", with the keys that are not at their defaults.
std::string text_of(const Layer& layer) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  const std::string_view type = write_layer(layer, fields);
  return fmt::format("{} {}", type, fields.dump());
}

}  // namespace

std::string graph_digest(const Graph& graph) {
  std::string text = fmt::format("input {}\nclasses {}\n", graph.input_shape.text(), graph.classes);
  for (const Node& node : graph.nodes)
    text += fmt::format("{} of {}\n", text_of(node.layer), fmt::join(node.inputs, ","));
  text += "loss mean_cross_entropy";
  return fmt::format("{:016x}", fnv1a(text));
}

}  // namespace ptbench
