#include "workloads/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>
#include <utility>

#include "src/base/error.h"
#include "src/base/input_file.h"
#include "src/base/log.h"
#include "workloads/file_text.h"
#include "workloads/json_fields.h"
#include "workloads/layers.h"
#include "workloads/model_schema.h"
#include "workloads/models.h"

namespace ptbench {
namespace {

using model_file::kInput;
using model_file::kSchema;
using nlohmann::json;

constexpr InputRule kModelRule{.largest = Bytes{16} << 20U};
constexpr std::size_t kMostLayers = 10'000;
constexpr Size kMostSamples = 1'000'000'000'000;  // as --batch-size and --samples
constexpr Size kMostClasses = std::numeric_limits<std::int32_t>::max();  // labels are 32 bits wide
constexpr Size kDefaultBatch = 64;
constexpr Size kDefaultSamples = 1024;

/// The first of them, and how many more.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kListed = 6;
  std::vector<std::string> quoted(names.size());
  std::ranges::transform(names, quoted.begin(), in_quotes);
  return few(quoted, kListed);
}

/// A layer as the file has it.
struct LayerEntry {
  std::string name;
  Layer layer;
  std::vector<std::string> inputs;  ///< names
};

const LayerType& read_type(const JsonFields& fields) {
  std::vector<std::string> names;
  for (const LayerType& type : layer_types()) names.emplace_back(type.name);
  const std::string name = fields.choice("type", names);
  return *std::ranges::find(layer_types(), name, &LayerType::name);
}

/// By default, the one before: `before`.
std::vector<std::string> read_inputs(const JsonFields& fields, const LayerType& type,
                                     const std::string& before) {
  if (!fields.has("inputs") && type.inputs == 1) return {before};
  if (!fields.has("inputs"))
    throw fields.error(
        fmt::format("{} takes {} inputs, and none are named", type.name, type.inputs),
        "add the key 'inputs', an array of layers' names");
  std::vector<std::string> inputs = fields.texts("inputs");
  if (inputs.size() != type.inputs)
    throw fields.error(
        fmt::format("'inputs' names {}, and {} takes {}", inputs.size(), type.name, type.inputs),
        fmt::format("name {} of the other layers, or \"{}\"", type.inputs, kInput));
  return inputs;
}

LayerEntry read_layer(const JsonFile& file, const json& value, std::size_t index,
                      const std::string& before) {
  const std::string number = fmt::format("layer {}", index + 1);
  const JsonFields anonymous(file, number, value);
  const std::string& name = anonymous.text("name");
  check_name(file, number, name);
  if (name == kInput)
    throw anonymous.error("it is named 'input', which is the data's name", "choose another name");

  const JsonFields fields(file, fmt::format("layer '{}'", shown(name)), value);
  const LayerType& type = read_type(fields);
  std::vector<std::string> keys{"name", "type", "inputs"};
  for (const LayerKey& key : type.keys) keys.emplace_back(key.name);
  fields.allow(keys);
  return {.name = name, .layer = type.read(fields), .inputs = read_inputs(fields, type, before)};
}

std::vector<LayerEntry> read_layers(const JsonFile& file, const JsonFields& model) {
  const json& values = model.at("layers");
  if (!values.is_array() || values.empty())
    throw model.error("'layers' holds no layers", "give an array of at least one layer");
  if (values.size() > kMostLayers)
    throw model.error(fmt::format("it has {} layers", values.size()),
                      fmt::format("give at most {}", kMostLayers));
  std::vector<LayerEntry> entries;
  for (std::size_t i = 0; i < values.size(); ++i)
    entries.push_back(
        read_layer(file, values[i], i, i == 0 ? std::string(kInput) : entries.back().name));
  return entries;
}

/// Brings the layers of a file, which may stand in any order, into one in which every input comes
/// before its user.
class LayerOrder {
 public:
  LayerOrder(const JsonFile& file, std::vector<LayerEntry> entries)
      : file_(file), entries_(std::move(entries)) {
    resolve_names();
    sort();
    if (order_.size() < entries_.size()) throw cycle_error();
    check_one_end();
  }

  [[nodiscard]] std::vector<Node> nodes() const {
    std::vector<Size> place(entries_.size());  // in the order, by index in the file
    for (std::size_t i = 0; i < order_.size(); ++i) place[order_[i]] = static_cast<Size>(i);
    std::vector<Node> nodes;
    for (const std::size_t entry : order_) {
      Node node{.name = entries_[entry].name, .layer = entries_[entry].layer, .inputs = {}};
      for (const Size source : sources_[entry])
        node.inputs.push_back(source < 0 ? -1 : place[static_cast<std::size_t>(source)]);
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

 private:
  void resolve_names() {
    std::unordered_map<std::string_view, Size> indices{{kInput, -1}};
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (!indices.emplace(entries_[i].name, static_cast<Size>(i)).second)
        throw file_.error(fmt::format("two layers are named '{}'", shown(entries_[i].name)),
                          "give every layer a name of its own");
    sources_.resize(entries_.size());
    users_.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i)
      for (const std::string& input : entries_[i].inputs) {
        const auto found = indices.find(input);
        if (found == indices.end()) throw unknown_input(entries_[i].name, input);
        sources_[i].push_back(found->second);
        if (found->second >= 0) users_[static_cast<std::size_t>(found->second)].push_back(i);
      }
  }

  [[nodiscard]] Error unknown_input(const std::string& layer, const std::string& input) const {
    std::vector<std::string> names{std::string(kInput)};
    for (const LayerEntry& entry : entries_) names.push_back(entry.name);
    return file_.error(fmt::format("layer '{}' takes its input from '{}', which is not a layer{}",
                                   shown(layer), shown(input), hint(input, names)),
                       fmt::format("name another layer, or \"{}\"", kInput));
  }

  /// Takes, of the layers whose inputs are there, always the first in the file.
  void sort() {
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    missing_.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      missing_[i] = std::ranges::count_if(sources_[i], [](Size source) { return source >= 0; });
      if (missing_[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const std::size_t next = ready.top();
      ready.pop();
      order_.push_back(next);
      for (const std::size_t user : users_[next])
        if (--missing_[user] == 0) ready.push(user);
    }
  }

  /// Every layer that is left over has an input that is left over: going back along those, one
  /// comes by some layer twice.
  [[nodiscard]] Error cycle_error() const {
    const auto is_left = [&](Size source) {
      return source >= 0 && missing_[static_cast<std::size_t>(source)] > 0;
    };
    std::vector<std::size_t> path;
    std::vector<bool> seen(entries_.size());
    auto at = static_cast<std::size_t>(
        std::ranges::find_if(missing_, [](Size missing) { return missing > 0; }) -
        missing_.begin());
    while (!seen[at]) {
      seen[at] = true;
      path.push_back(at);
      at = static_cast<std::size_t>(*std::ranges::find_if(sources_[at], is_left));
    }
    std::vector<std::string> names;
    for (auto i = std::ranges::find(path, at); i != path.end(); ++i)
      names.push_back(entries_[*i].name);
    std::ranges::reverse(names);
    return file_.error(fmt::format("these layers feed each other in a cycle: {}", listed(names)),
                       "take one of them out of the other's 'inputs'");
  }

  void check_one_end() const {
    std::vector<std::string> ends;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (users_[i].empty()) ends.push_back(entries_[i].name);
    if (ends.size() > 1)
      throw file_.error(
          fmt::format("no layer uses the output of {} layers: {}", ends.size(), listed(ends)),
          "keep one, whose output is the logits, and use or remove the others");
  }

  const JsonFile& file_;
  std::vector<LayerEntry> entries_;
  std::vector<std::vector<Size>> sources_;  ///< of each layer: indices in the file, -1 the data
  std::vector<std::vector<std::size_t>> users_;  ///< of each layer
  std::vector<Size> missing_;                    ///< inputs that are not in order_
  std::vector<std::size_t> order_;
};

OptimizerKind kind_named(std::string_view name) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam})
    if (name == name_of(kind)) return kind;
  return OptimizerKind::adamw;
}

/// The bounds are those of the options of `ptbench run`.
OptimizerSpec read_optimizer(const JsonFile& file, const JsonFields& model) {
  if (!model.has("optimizer")) return OptimizerSpec::defaults_of(OptimizerKind::sgd);
  constexpr double kMost = 1e6;
  constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon();
  const JsonFields fields(file, "'optimizer'", model.at("optimizer"));
  OptimizerSpec spec =
      OptimizerSpec::defaults_of(kind_named(fields.choice("kind", {"sgd", "adam", "adamw"})));
  if (spec.kind == OptimizerKind::sgd)
    fields.allow({"kind", "lr", "momentum", "weight_decay"});
  else
    fields.allow({"kind", "lr", "beta1", "beta2", "epsilon", "weight_decay"});
  spec.lr = fields.real("lr", 0, kMost, spec.lr);
  spec.momentum = fields.real("momentum", 0, 1, spec.momentum);
  spec.weight_decay = fields.real("weight_decay", 0, kMost, spec.weight_decay);
  spec.beta1 = fields.real("beta1", 0, kBelowOne, spec.beta1);
  spec.beta2 = fields.real("beta2", 0, kBelowOne, spec.beta2);
  spec.epsilon = fields.real("epsilon", 0, 1, spec.epsilon);
  return spec;
}

void check_schema(const JsonFields& model) {
  const std::string& schema = model.text("schema");
  if (schema != kSchema)
    throw model.error(fmt::format("its schema is '{}'", shown(schema)),
                      fmt::format("give a file of the schema '{}', see docs/models.md", kSchema));
}

Shape read_input_shape(const JsonFields& model) {
  const std::vector<Size> dimensions = model.wholes("input", 1, kMostElements);
  if (dimensions.size() != 1 && dimensions.size() != 3)
    throw model.error(fmt::format("'input' has {} dimensions", dimensions.size()),
                      "give [width] for rows, or [channels, height, width] for images");
  return Shape(dimensions);
}

Workload read_header(const JsonFile& file, const JsonFields& model) {
  Workload workload;
  workload.name = model.text("name");
  check_name(file, "the model", workload.name);
  workload.summary = "a model from a file";
  if (model.has("summary")) workload.summary = shown(model.text("summary"));
  workload.input_shape = read_input_shape(model);
  workload.takes_any_width = model.flag("takes_any_width", false);
  if (workload.takes_any_width && workload.input_shape.rank() != 1)
    throw model.error("it 'takes_any_width', and its input is an image",
                      "leave the key out, or give a row as 'input'");
  workload.classes = model.whole("classes", 1, kMostClasses);
  workload.batch = model.whole("batch", 1, kMostSamples, kDefaultBatch);
  workload.synthetic_samples = model.whole("samples", 1, kMostSamples, kDefaultSamples);
  workload.optimizer = read_optimizer(file, model);
  return workload;
}

}  // namespace

Workload parse_model(std::string_view text, std::string_view name) {
  const JsonFile file{std::string(name)};
  const json document = parse_json(file, text);
  const JsonFields model(file, "", document);
  check_schema(model);
  model.allow({"schema", "name", "summary", "input", "takes_any_width", "classes", "batch",
               "samples", "optimizer", "layers"});
  Workload workload = read_header(file, model);
  Graph graph{.input_shape = workload.input_shape,
              .classes = workload.classes,
              .nodes = LayerOrder(file, read_layers(file, model)).nodes()};
  try {
    (void)graph.output_shapes();
  } catch (const Error& error) {
    throw file.error(error.what(), error.remedy());
  }
  workload.build = [graph = std::move(graph), own = workload.name,
                    any_width = workload.takes_any_width](const Shape& input) {
    if (!any_width) require_own_shape(own, graph.input_shape, input);
    Graph fitted = graph;
    if (any_width) fitted.input_shape = Shape{input.elements()};
    return fitted;
  };
  return workload;
}

namespace {

/// Results of the two would be compared with each other.
void refuse_catalog_name(const std::string& name, const std::string& path) {
  const std::vector<Workload> catalog = workload_catalog();
  if (std::ranges::find(catalog, name, &Workload::name) == catalog.end()) return;
  throw usage_error(
      fmt::format("the model in '{}' is called '{}', which is the name of a built-in workload",
                  printable(path), name),
      "give its key \"name\" another value");
}

}  // namespace

Workload read_model(const std::string& path) {
  const auto refuse = [&](const InputProblem& problem) {
    return usage_error(fmt::format("the model file '{}' {}", printable(path), problem.predicate),
                       "name a JSON file that describes a model, see docs/models.md");
  };
  Workload workload = parse_model(read_input(path, kModelRule, refuse), path);
  refuse_catalog_name(workload.name, path);
  workload.model_file = path;
  return workload;
}

}  // namespace ptbench
