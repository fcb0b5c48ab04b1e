#include "workloads/lower.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

template <class L>
bool is(const Node& node) {
  return std::holds_alternative<L>(node.layer);
}

/// Which nodes become one operator: for every node the last one of its group, at whose place the
/// operator stands.
class Fusion {
 public:
  explicit Fusion(const Graph& graph) : graph_(graph), last_(graph.nodes.size()) {
    std::vector<Size> users(graph.nodes.size(), 0);
    for (const Node& node : graph.nodes)
      for (const Size input : node.inputs)
        if (input >= 0) ++users[static_cast<std::size_t>(input)];
    for (std::size_t i = 0; i < last_.size(); ++i) last_[i] = i;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto input = absorbs(i, users);
      if (!input) continue;
      taken_.emplace(i, *input);
      for (std::size_t& last : last_)
        if (last == *input) last = i;
    }
  }

  /// Whether another node's operator computes this one too.
  [[nodiscard]] bool continues(std::size_t node) const { return last_[node] != node; }
  /// The nodes of the operator at `node`, first to last.
  [[nodiscard]] std::vector<std::size_t> group(std::size_t node) const {
    std::vector<std::size_t> nodes{node};
    for (auto found = taken_.find(node); found != taken_.end(); found = taken_.find(nodes.front()))
      nodes.insert(nodes.begin(), found->second);
    return nodes;
  }

 private:
  /// The input whose operator also computes node `i`; none where `i` stands for itself.
  [[nodiscard]] std::optional<std::size_t> absorbs(std::size_t i,
                                                   const std::vector<Size>& users) const {
    const Node& node = graph_.nodes[i];
    if (!is<ReluLayer>(node) && !is<AddLayer>(node)) return std::nullopt;
    if (is<AddLayer>(node) && node.inputs[0] == node.inputs[1]) return std::nullopt;
    for (const Size input : node.inputs) {
      if (input < 0) continue;
      const auto before = static_cast<std::size_t>(input);
      if (users[before] == 1 && takes(before, node)) return before;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool takes(std::size_t before, const Node& node) const {
    const std::vector<std::size_t> nodes = group(before);
    const Node& first = graph_.nodes[nodes.front()];
    if (is<ReluLayer>(graph_.nodes[nodes.back()])) return false;  // ends its operator
    const auto* convolution = std::get_if<Conv2dLayer>(&first.layer);
    const bool biased = convolution != nullptr && convolution->bias;
    if (is<AddLayer>(node))
      return nodes.size() == 1 &&
             (is<BatchNormLayer>(first) || (biased && first.inputs[0] >= 0));  // not of the data
    return is<BatchNormLayer>(first) || is<LinearLayer>(first) || biased;
  }

  const Graph& graph_;
  std::vector<std::size_t> last_;
  std::map<std::size_t, std::size_t> taken_;  ///< node → the input that it joined
};

class Lowerer {
 public:
  Lowerer(const Graph& graph, const Lowering& lowering)
      : graph_(graph), lowering_(lowering), fusion_(graph), values_(graph.nodes.size()) {
    add_tensor({.shape = batched(graph.input_shape), .type = lowering.data_type()}, kNoTensor,
               false);
  }

  LoweredGraph run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!fusion_.continues(i)) values_[i] = lower_group(fusion_.group(i));
    lowered_.leaving = plain(values_.back());
    lowered_.has_loss = lowering_.has_loss;
    if (!lowered_.has_loss) return std::move(lowered_);
    add_operator({.spec = SoftmaxCrossEntropySpec{.batch = lowering_.batch,
                                                  .classes = graph_.classes,
                                                  .global_batch = lowering_.global_batch,
                                                  .type = kept_type(lowering_.type)},
                  .node = "loss",
                  .inputs = {lowered_.leaving}});
    return std::move(lowered_);
  }

 private:
  [[nodiscard]] Shape batched(const Shape& sample) const {
    std::vector<Size> dimensions{lowering_.batch};
    for (const Size dimension : sample.dimensions()) dimensions.push_back(dimension);
    return Shape(dimensions);
  }
  [[nodiscard]] const LoweredTensor& tensor(Size index) const {
    return lowered_.tensors[static_cast<std::size_t>(index)];
  }

  Size add_tensor(TensorSpec spec, Size producer, bool needs_gradient) {
    lowered_.tensors.push_back(
        {.spec = spec, .producer = producer, .needs_gradient = needs_gradient});
    return static_cast<Size>(lowered_.tensors.size()) - 1;
  }

  Size add_operator(LoweredOperator added) {
    const OperatorTensors tensors = tensors_of(added.spec);
    for (std::size_t i = 0; i < added.inputs.size(); ++i)
      ensure(tensor(added.inputs[i]).spec == tensors.inputs[i], "tensors fit their operators");
    const bool trained = !parameters_of(added.spec).empty() || inputs_need(added.inputs);
    if (tensors.output)
      added.output =
          add_tensor(*tensors.output, static_cast<Size>(lowered_.operators.size()), trained);
    lowered_.operators.push_back(std::move(added));
    return lowered_.operators.back().output;
  }
  [[nodiscard]] bool inputs_need(const std::vector<Size>& inputs) const {
    return std::ranges::any_of(inputs, [&](Size input) { return tensor(input).needs_gradient; });
  }

  /// The tensor of a node's input.
  [[nodiscard]] Size value(Size node) const {
    return node < 0 ? kDataTensor : values_[static_cast<std::size_t>(node)];
  }

  /// The same values in another form; made once for all users.
  Size reordered(Size from, TensorSpec wanted) {
    if (tensor(from).spec == wanted) return from;
    const auto key = std::pair(
        from, static_cast<int>(wanted.format) * 8 + static_cast<int>(wanted.shape.rank()));
    if (const auto made = reordered_.find(key); made != reordered_.end()) return made->second;
    const TensorSpec& have = tensor(from).spec;
    Size to = 0;
    if (have.type == wanted.type && have.format == wanted.format &&
        have.format == TensorFormat::plain && !tensor(from).needs_gradient) {
      // Row-major data with its dimensions written otherwise.
      to = add_tensor(wanted, tensor(from).producer, false);
      lowered_.tensors.back().same_memory_as = from;
    } else {
      to = add_operator({.spec = ReorderSpec{.from = have,
                                             .to = wanted,
                                             .input_gradient = tensor(from).needs_gradient},
                         .node = "reorder",
                         .inputs = {from}});
    }
    return reordered_[key] = to;
  }
  Size native(Size from) {
    return reordered(from, {.shape = image_of(tensor(from).spec).shape(),
                            .type = kept_type(lowering_.type),
                            .format = TensorFormat::native});
  }
  /// Rows of values.
  Size plain(Size from) {
    const Shape& shape = tensor(from).spec.shape;
    return reordered(from, {.shape = {shape[0], shape.elements() / shape[0]},
                            .type = kept_type(lowering_.type),
                            .format = TensorFormat::plain});
  }
  /// As it is, in the type that the model computes with.
  Size typed(Size from) {
    TensorSpec wanted = tensor(from).spec;
    wanted.type = kept_type(lowering_.type);
    return reordered(from, wanted);
  }

  using Group = std::vector<std::size_t>;

  Size lower_group(const Group& nodes) {
    const Node& node = graph_.nodes[nodes.front()];
    return std::visit([&](const auto& layer) { return lower_layer(layer, node, nodes); },
                      node.layer);
  }

  [[nodiscard]] LayerInput entering(Size input) const {
    return {.tensor = tensor(input).spec, .gradient = tensor(input).needs_gradient};
  }
  Size in_form(LayerForm form, Size from) {
    switch (form) {
      case LayerForm::any: return typed(from);
      case LayerForm::rows: return plain(from);
      case LayerForm::native: return native(from);
    }
    throw Defect("unknown form of a layer's input");
  }

  /// Layers that are one operator, whatever comes after them.
  template <class L>
  Size lower_layer(const L& layer, const Node& node, const Group& /*nodes*/) {
    const Size input = in_form(LayerTraits<L>::kForm, value(node.inputs[0]));
    return add_operator({.spec = LayerTraits<L>::spec(layer, entering(input)),
                         .node = node.name,
                         .inputs = {input}});
  }

  Size lower_layer(const LinearLayer& layer, const Node& node, const Group& nodes) {
    const Size input = plain(value(node.inputs[0]));
    LinearSpec spec = LayerTraits<LinearLayer>::spec(layer, entering(input));
    spec.relu = nodes.size() > 1;
    spec.type = lowering_.type;
    return add_operator({.spec = spec, .node = node.name, .inputs = {input}});
  }

  Size lower_layer(const Conv2dLayer& layer, const Node& node, const Group& nodes) {
    Size input = typed(value(node.inputs[0]));
    const bool is_plain = tensor(input).spec.format == TensorFormat::plain;
    // Only the data are plain images; anything else that is plain would need its gradient so.
    if (is_plain && tensor(input).needs_gradient) input = native(input);
    Conv2dSpec spec = LayerTraits<Conv2dLayer>::spec(layer, entering(input));
    spec.type = lowering_.type;
    return add_followed(spec, node.name, input, nodes);
  }

  /// The operator of a group, whose additions and ReLU are part of `spec`.
  template <class Spec>
  Size add_followed(Spec spec, const std::string& name, Size input, const Group& nodes) {
    LoweredOperator lowered{.spec = {}, .node = name, .inputs = {input}};
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      const Node& fused = graph_.nodes[nodes[i]];
      if (is<ReluLayer>(fused)) {
        spec.relu = true;
        continue;
      }
      spec.add = true;
      const auto before = static_cast<Size>(nodes[i - 1]);
      const Size other = fused.inputs[fused.inputs[0] == before ? 1 : 0];
      lowered.inputs.push_back(native(value(other)));
    }
    spec.input_gradient = inputs_need(lowered.inputs);
    lowered.spec = spec;
    return add_operator(std::move(lowered));
  }

  Size lower_layer(const BatchNormLayer& layer, const Node& node, const Group& nodes) {
    const Size source = value(node.inputs[0]);
    const bool row = tensor(source).spec.shape.rank() == 2;
    const Size input = native(source);
    const Size output = add_followed(LayerTraits<BatchNormLayer>::spec(layer, entering(input)),
                                     node.name, input, nodes);
    return row ? plain(output) : output;
  }

  Size lower_layer(const FlattenLayer& /*layer*/, const Node& node, const Group& /*nodes*/) {
    return plain(value(node.inputs[0]));
  }

  Size lower_layer(const AddLayer& layer, const Node& node, const Group& /*nodes*/) {
    std::array<Size, 2> inputs{typed(value(node.inputs[0])), typed(value(node.inputs[1]))};
    if (tensor(inputs[0]).spec != tensor(inputs[1]).spec)  // the data and an image
      inputs = {native(inputs[0]), native(inputs[1])};
    return add_operator({.spec = LayerTraits<AddLayer>::spec(layer, entering(inputs[0])),
                         .node = node.name,
                         .inputs = {inputs[0], inputs[1]}});
  }

  const Graph& graph_;
  const Lowering& lowering_;
  Fusion fusion_;
  std::vector<Size> values_;  ///< a node's tensor
  std::map<std::pair<Size, int>, Size> reordered_;
  LoweredGraph lowered_;
};

/// Lets every gradient have one source, where its operator does not sum several itself.
LoweredGraph fork_gradients(LoweredGraph graph) {
  const std::vector<std::vector<Use>> uses = uses_of(graph);
  LoweredGraph forked{.tensors = graph.tensors,
                      .operators = {},
                      .leaving = graph.leaving,
                      .has_loss = graph.has_loss};
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    LoweredOperator lowered = graph.operators[i];
    const Size output = lowered.output;
    const auto place = static_cast<Size>(forked.operators.size());
    if (output != kNoTensor) forked.tensors[static_cast<std::size_t>(output)].producer = place;
    const auto readers = output == kNoTensor
                             ? Size{0}
                             : static_cast<Size>(uses[static_cast<std::size_t>(output)].size());
    const bool trained =
        output != kNoTensor && graph.tensors[static_cast<std::size_t>(output)].needs_gradient;
    auto* norm = std::get_if<BatchNormSpec>(&lowered.spec);
    const bool sums_itself = norm != nullptr && readers == 2;
    if (sums_itself && trained) norm->gradient_terms = 2;
    forked.operators.push_back(std::move(lowered));
    if (readers < 2 || !trained || sums_itself) continue;
    const TensorSpec spec = graph.tensors[static_cast<std::size_t>(output)].spec;
    const auto copy = static_cast<Size>(forked.tensors.size());
    forked.tensors.push_back(
        {.spec = spec, .producer = place + 1, .same_memory_as = output, .needs_gradient = true});
    forked.operators.push_back({.spec = ForkSpec{.tensor = spec, .gradient_terms = readers},
                                .node = "fork",
                                .inputs = {output},
                                .output = copy});
    for (const Use& use : uses[static_cast<std::size_t>(output)])
      graph.operators[static_cast<std::size_t>(use.reader)].inputs[use.input] = copy;
  }
  return forked;
}

}  // namespace

const SoftmaxCrossEntropySpec& LoweredGraph::loss() const {
  ensure(has_loss, "only a graph with a loss tells of it");
  return std::get<SoftmaxCrossEntropySpec>(operators.back().spec);
}

std::vector<std::vector<Use>> uses_of(const LoweredGraph& graph) {
  std::vector<std::vector<Use>> uses(graph.tensors.size());
  for (std::size_t i = 0; i < graph.operators.size(); ++i)
    for (std::size_t input = 0; input < graph.operators[i].inputs.size(); ++input)
      uses[static_cast<std::size_t>(graph.operators[i].inputs[input])].push_back(
          {.reader = static_cast<Size>(i), .input = input});
  return uses;
}

LoweredGraph lower(const Graph& graph, const Lowering& lowering) {
  static_cast<void>(graph.output_shapes());  // throws for a graph that does not fit together
  return fork_gradients(Lowerer(graph, lowering).run());
}

}  // namespace ptbench
