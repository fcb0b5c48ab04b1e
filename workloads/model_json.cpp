// Models as the text of a model file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "workloads/layers.h"
#include "workloads/model_file.h"
#include "workloads/model_schema.h"

namespace ptbench {
namespace {

using model_file::kInput;
using model_file::kSchema;
using nlohmann::ordered_json;

/// `value` in one line, with the blanks that people write.
std::string one_line(const ordered_json& value) {
  if (!value.is_structured()) return value.dump();
  std::vector<std::string> parts;
  for (const auto& [key, element] : value.items())
    parts.push_back(value.is_object()
                        ? fmt::format("{}: {}", ordered_json(key).dump(), one_line(element))
                        : one_line(element));
  const std::string inside = fmt::format("{}", fmt::join(parts, ", "));
  return value.is_object() ? "{" + inside + "}" : "[" + inside + "]";
}

ordered_json optimizer_json(const OptimizerSpec& spec) {
  const OptimizerSpec usual = OptimizerSpec::defaults_of(spec.kind);
  ordered_json fields{{"kind", name_of(spec.kind)}, {"lr", spec.lr}};
  if (spec.momentum != usual.momentum) fields["momentum"] = spec.momentum;
  if (spec.beta1 != usual.beta1) fields["beta1"] = spec.beta1;
  if (spec.beta2 != usual.beta2) fields["beta2"] = spec.beta2;
  if (spec.epsilon != usual.epsilon) fields["epsilon"] = spec.epsilon;
  if (spec.weight_decay != usual.weight_decay) fields["weight_decay"] = spec.weight_decay;
  return fields;
}

ordered_json layer_json(const Graph& graph, std::size_t index) {
  const Node& node = graph.nodes[index];
  ordered_json fields{{"name", node.name}, {"type", ""}};
  fields["type"] = write_layer(node.layer, fields);
  if (node.inputs == std::vector{static_cast<Size>(index) - 1}) return fields;
  for (const Size source : node.inputs)
    fields["inputs"].push_back(source < 0 ? std::string(kInput)
                                          : graph.nodes[static_cast<std::size_t>(source)].name);
  return fields;
}

}  // namespace

std::string model_json(const Workload& workload) {
  const Graph graph = workload.build(workload.input_shape);
  ordered_json header{{"schema", kSchema},
                      {"name", workload.name},
                      {"summary", workload.summary},
                      {"input", graph.input_shape.dimensions()},
                      {"classes", workload.classes},
                      {"batch", workload.batch},
                      {"samples", workload.synthetic_samples},
                      {"optimizer", optimizer_json(workload.optimizer)}};
  if (workload.takes_any_width) header["takes_any_width"] = true;
  std::string text = "{\n";
  for (const auto& [key, value] : header.items())
    text += fmt::format("  {}: {},\n", ordered_json(key).dump(), one_line(value));
  text += "  \"layers\": [\n";
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    text += fmt::format("    {}{}\n", one_line(layer_json(graph, i)),
                        i + 1 < graph.nodes.size() ? "," : "");
  return text + "  ]\n}\n";
}

}  // namespace ptbench
