#include "workloads/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/random.h"

namespace ptbench {
namespace {

constexpr Size kAlignment = 128;

Bytes float_bytes(Size elements) { return static_cast<Bytes>(elements) * sizeof(float); }

Bytes aligned(Bytes bytes) {
  return static_cast<Bytes>(round_up(static_cast<Size>(bytes), kAlignment));
}

template <class T>
std::span<T> slice_of(std::span<T> all, Range range) {
  return all.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
}

}  // namespace

ProgramPlan::ProgramPlan(const Graph& graph, Size batch, Size global_batch,
                         const KernelBackend& backend, const Choices& choices)
    : batch_(batch), classes_(graph.classes) {
  std::string text = backend.fingerprint();
  for (LoweredOperator& lowered : lower(graph, batch, global_batch)) {
    const std::string key = key_of(lowered.spec);
    const auto choice = choices.find(key);
    ensure(choice != choices.end(), "every operator has been chosen");
    Step step;
    step.plan = backend.plan(lowered.spec, choice->second);
    const TensorElements elements = elements_of(lowered.spec);
    step.input_elements = elements.input;
    step.output_elements = elements.output;
    for (const ParameterSpec& parameter : parameters_of(lowered.spec))
      parameters_.push_back({.name = fmt::format("{}.{}", lowered.node, parameter.name),
                             .shape = parameter.shape,
                             .bound = parameter.bound});
    text += fmt::format("\n{} {}: {}", lowered.node, key, step.plan->description());
    step.lowered = std::move(lowered);
    steps_.push_back(std::move(step));
  }
  lay_out_arena();
  hash_ = fmt::format("{:016x}", fnv1a(text));
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

MemoryPrediction ProgramPlan::memory(const OptimizerSpec& optimizer) const {
  MemoryPrediction memory;
  memory.parameters = float_bytes(arena_elements_);
  memory.gradients = memory.parameters;
  memory.optimizer = memory.parameters * static_cast<Bytes>(optimizer.state_arenas());
  memory.activations = aligned(float_bytes(steps_.front().input_elements)) +
                       static_cast<Bytes>(batch_) * sizeof(std::int32_t);
  for (const Step& step : steps_) {
    memory.activations += 2 * aligned(float_bytes(step.output_elements));
    memory.workspace += aligned(step.plan->workspace_bytes());
  }
  return memory;
}

Program::Program(std::shared_ptr<const ProgramPlan> plan, MemorySource& arenas,
                 MemorySource& memory)
    : plan_(std::move(plan)) {
  const Bytes arena = float_bytes(plan_->arena_elements());
  parameters_ = arenas.allocate(arena, "parameters");
  gradients_ = arenas.allocate(arena, "gradients");
  const auto& steps = plan_->steps();
  labels_ = memory.allocate(static_cast<Bytes>(plan_->batch()) * sizeof(std::int32_t), "labels");
  loss_ = memory.allocate(sizeof(float), "the loss");
  Bytes workspace = 0;
  Bytes activations = aligned(float_bytes(steps.front().input_elements));
  for (const ProgramPlan::Step& step : steps) {
    activations += 2 * aligned(float_bytes(step.output_elements));
    workspace += aligned(step.plan->workspace_bytes());
  }
  activations_ = memory.allocate(activations, "activations");
  workspace_ = memory.allocate(workspace, "workspace");
  bind();
}

void Program::carve_activations() {
  std::span<std::byte> rest = activations_.as<std::byte>();
  const auto take = [&rest](Size elements) {
    auto* begin = reinterpret_cast<float*>(rest.data());
    rest = rest.subspan(aligned(float_bytes(elements)));
    return std::span<float>(begin, static_cast<std::size_t>(elements));
  };
  input_ = take(plan_->steps().front().input_elements);
  for (const ProgramPlan::Step& step : plan_->steps()) {
    outputs_.push_back(take(step.output_elements));
    output_gradients_.push_back(take(step.output_elements));
  }
}

void Program::bind() {
  carve_activations();
  Bytes workspace = 0;
  const auto& steps = plan_->steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ProgramPlan::Step& step = steps[i];
    Bindings bindings;
    bindings.input = i == 0 ? input() : outputs_[i - 1];
    if (i > 0) bindings.input_gradient = output_gradients_[i - 1];
    bindings.output = outputs_[i];
    bindings.output_gradient = output_gradients_[i];
    bindings.parameters = slice_of<const float>(parameters(), step.arena);
    bindings.gradients = slice_of(gradients(), step.arena);
    bindings.labels = labels();
    bindings.loss = loss_.as<float>();
    bindings.workspace =
        workspace_.as<std::byte>().subspan(workspace, step.plan->workspace_bytes());
    workspace += aligned(step.plan->workspace_bytes());
    operators_.push_back(step.plan->bind(bindings));
  }
}

std::span<const float> Program::logits() const { return outputs_[outputs_.size() - 2]; }

float Program::forward() {
  for (const auto& planned : operators_) planned->forward();
  return loss_.as<float>()[0];
}

void Program::backward(GradientsReady ready) {
  for (std::size_t i = operators_.size(); i-- > 0;) {
    operators_[i]->backward();
    const Range arena = plan_->steps()[i].arena;
    if (!arena.empty()) ready(arena);
  }
}

void Program::initialise(std::uint64_t seed) {
  std::vector<NamedTensor> values;
  for (const ParameterSpec& parameter : plan_->parameters()) {
    const CounterRandom random(seed ^ fnv1a(parameter.name),
                               static_cast<std::uint64_t>(RandomStream::weights));
    std::vector<float> drawn(static_cast<std::size_t>(parameter.shape.elements()));
    for (std::size_t i = 0; i < drawn.size(); ++i)
      drawn[i] = random.uniform(i, -parameter.bound, parameter.bound);
    values.push_back(
        {.name = parameter.name, .shape = parameter.shape, .values = std::move(drawn)});
  }
  import_parameters(values);
}

void Program::import_parameters(const std::vector<NamedTensor>& values) {
  ensure(values.size() == plan_->parameters().size(), "one tensor for each parameter");
  std::size_t next = 0;
  for (const ProgramPlan::Step& step : plan_->steps()) {
    std::vector<std::span<const float>> tensors;
    for (const ParameterSpec& parameter : parameters_of(step.lowered.spec)) {
      ensure(values[next].shape == parameter.shape, "tensors come in the plan's order and shapes");
      tensors.emplace_back(values[next++].values);
    }
    step.plan->import_parameters(tensors, slice_of(parameters(), step.arena));
  }
}

std::vector<NamedTensor> Program::export_parameters() const {
  std::vector<NamedTensor> values;
  for (const ParameterSpec& parameter : plan_->parameters())
    values.push_back(
        {.name = parameter.name,
         .shape = parameter.shape,
         .values = std::vector<float>(static_cast<std::size_t>(parameter.shape.elements()))});
  std::size_t next = 0;
  for (const ProgramPlan::Step& step : plan_->steps()) {
    std::vector<std::span<float>> tensors;
    for (std::size_t i = 0; i < parameters_of(step.lowered.spec).size(); ++i)
      tensors.emplace_back(values[next++].values);
    step.plan->export_parameters(slice_of<const float>(parameters(), step.arena), tensors);
  }
  return values;
}

}  // namespace ptbench
