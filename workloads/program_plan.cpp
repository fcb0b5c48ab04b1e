#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "workloads/program.h"

namespace ptbench {
namespace {

constexpr Bytes kAlignment = 128;

const Node* node_named(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes, name, &Node::name);
  return found == graph.nodes.end() ? nullptr : &*found;
}

}  // namespace

ProgramPlan::ProgramPlan(const Graph& graph, const Lowering& lowering, const KernelBackend& backend,
                         const Choices& choices)
    : lowering_(lowering),
      classes_(graph.classes),
      backend_(&backend),
      choices_(choices),
      graph_(lower(graph, lowering)) {
  std::string text = backend.fingerprint();
  for (const LoweredOperator& lowered : graph_.operators) {
    const std::string key = key_of(lowered.spec);
    const auto choice = choices.find(key);
    ensure(choice != choices.end(), "every operator has been chosen");
    Step step;
    step.plan = backend.plan(lowered.spec, choice->second);
    const Size buffers = elements_of(buffers_of(lowered.spec));
    step.buffers = {buffer_elements_, buffer_elements_ + buffers};
    buffer_elements_ += buffers;
    step.prepared = prepared_bytes_;
    prepared_bytes_ += round_up(step.plan->prepared_bytes(), kAlignment);
    step.saved = saved_bytes_;
    saved_bytes_ += round_up(step.plan->saved_bytes(), kAlignment);
    step.trained = !parameters_of(lowered.spec).empty() || lowered.output == kNoTensor ||
                   std::ranges::any_of(lowered.inputs, [&](Size input) {
                     return graph_.tensors[static_cast<std::size_t>(input)].needs_gradient;
                   });
    text += fmt::format("\n{} {}: {}", lowered.node, key, step.plan->description());
    steps_.push_back(std::move(step));
    add_tensors(graph, lowered);
  }
  lay_out_arena();
  lay_out_passing();
  activations_ =
      place_activations(graph_, [&](const TensorSpec& tensor) { return backend.bytes_of(tensor); });
  hash_ = fmt::format("{:016x}", fnv1a(text));
}

void ProgramPlan::add_tensors(const Graph& graph, const LoweredOperator& lowered) {
  const auto add = [&](ParameterSpec tensor) {
    tensor.name = fmt::format("{}.{}", lowered.node, tensor.name);
    tensors_.push_back(std::move(tensor));
  };
  for (ParameterSpec& tensor : parameters_of(lowered.spec)) {
    if (const Node* node = node_named(graph, lowered.node))
      std::visit([&]<class L>(const L& layer) { LayerTraits<L>::draw(layer, tensor); },
                 node->layer);
    add(std::move(tensor));
  }
  for (ParameterSpec& tensor : buffers_of(lowered.spec)) add(std::move(tensor));
}

void ProgramPlan::lay_out_arena() {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const ParameterLayout layout = steps_[i].plan->layout();
    steps_[i].arena = {arena_elements_, arena_elements_ + layout.elements};
    for (const OwnedRange& part : layout.owned)
      owned_.push_back(
          {.range = {part.range.begin + arena_elements_, part.range.end + arena_elements_},
           .member = part.member});
    arena_elements_ += layout.elements;
  }
}

/// Operators with padding have gradients of their own: nobody computes the padding's, which are
/// zero from the beginning and stay so, as the padding of the parameters does.
void ProgramPlan::lay_out_passing() {
  const auto is_padded = [&](std::size_t step) {
    return elements_of(parameters_of(graph_.operators[step].spec)) != steps_[step].arena.size();
  };
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (!is_padded(i)) passing_elements_ = std::max(passing_elements_, steps_[i].arena.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Size begin = is_padded(i) ? passing_elements_ : 0;
    steps_[i].passing = {begin, begin + steps_[i].arena.size()};
    passing_elements_ = std::max(passing_elements_, steps_[i].passing.end);
  }
}

double ProgramPlan::executed_flops() const {
  double sum = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Flops all = flops_of(graph_.operators[i].spec);
    const Flops executed = steps_[i].plan->executed_flops().value_or(all);
    sum += executed.forward + executed.backward;
  }
  return sum;
}

Bytes ProgramPlan::tensor_bytes(Size tensor) const {
  return backend().bytes_of(graph_.tensors[static_cast<std::size_t>(tensor)].spec);
}

Bytes ProgramPlan::scratch_bytes() const {
  Bytes bytes = 0;
  for (const Step& step : steps_) bytes = std::max(bytes, step.plan->scratch_bytes());
  return bytes;
}

Bytes ProgramPlan::addend_bytes() const {
  Bytes bytes = 0;
  for (const Step& step : steps_) bytes = std::max(bytes, step.plan->addend_bytes());
  return bytes;
}

MemoryPrediction ProgramPlan::memory(const OptimizerSpec& optimizer, GradientUse gradients,
                                     const MemorySource& source, Size slots) const {
  const Bytes arena = source.footprint(float_bytes(arena_elements_));
  MemoryPrediction memory;
  memory.parameters = arena;
  memory.gradients =
      gradients == GradientUse::passing ? source.footprint(float_bytes(passing_elements_)) : arena;
  memory.optimizer = arena * static_cast<Bytes>(optimizer.state_arenas());
  const Bytes labels = source.footprint(static_cast<Bytes>(batch()) * sizeof(std::int32_t));
  memory.activations = source.footprint(activations_.total) + labels;
  if (!backend().device().shares_memory_with_host())  // where batches arrive
    memory.activations += source.footprint(tensor_bytes(kDataTensor)) + labels;
  memory.activations *= static_cast<Bytes>(slots);
  memory.workspace = static_cast<Bytes>(slots) * source.footprint(saved_bytes()) +
                     source.footprint(prepared_bytes()) + source.footprint(scratch_bytes()) +
                     source.footprint(float_bytes(buffer_elements_));
  if (gradients == GradientUse::accumulated) memory.workspace += source.footprint(addend_bytes());
  return memory;
}

}  // namespace ptbench
