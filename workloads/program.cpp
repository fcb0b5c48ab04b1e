#include "workloads/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/random.h"
#include "src/base/slice.h"

namespace ptbench {
namespace {

constexpr std::size_t kCell = 16;  // floats of a cache line

std::vector<float> drawn(const ParameterSpec& tensor, std::uint64_t seed) {
  const CounterRandom random(seed ^ fnv1a(tensor.name),
                             static_cast<std::uint64_t>(RandomStream::weights));
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()), tensor.center);
  if (tensor.spread == 0) return values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.distribution == Distribution::uniform)
      values[i] = random.uniform(i, tensor.center - tensor.spread, tensor.center + tensor.spread);
    else
      values[i] = tensor.center + tensor.spread * random.normal4(i / 4)[i % 4];
  }
  return values;
}

/// The tensors of one buffer, which lie one after the other.
template <class T>
std::vector<std::span<T>> consecutive(std::span<T> all, const std::vector<ParameterSpec>& tensors) {
  std::vector<std::span<T>> parts;
  std::size_t begin = 0;
  for (const ParameterSpec& tensor : tensors) {
    const auto count = static_cast<std::size_t>(tensor.shape.elements());
    parts.push_back(all.subspan(begin, count));
    begin += count;
  }
  return parts;
}

}  // namespace

Program::Program(std::shared_ptr<const ProgramPlan> plan, MemorySource& arenas, GradientUse use,
                 Size slots)
    : plan_(std::move(plan)),
      device_(plan_->backend().device()),
      queue_(device_.compute()),
      is_immediate_(queue_.is_immediate()),
      gradient_use_(use) {
  ensure(slots > 0, "a program has a slot for its micro-batch");
  MemorySource& memory = device().memory();
  const Bytes arena = float_bytes(plan_->arena_elements());
  const bool passing = use == GradientUse::passing;
  parameters_ = arenas.allocate(arena, "parameters");
  gradients_ =
      arenas.allocate(passing ? float_bytes(plan_->passing_elements()) : arena, "gradients");
  buffers_ = memory.allocate(float_bytes(plan_->buffer_elements()), "running statistics");
  cells_ = arenas.allocate((static_cast<Bytes>(slots) + 1) * kCell * sizeof(float),
                           "the loss and its scale");
  prepared_ = memory.allocate(plan_->prepared_bytes(), "prepared parameters");
  for (Size slot = 0; slot < slots; ++slot) slots_.push_back(make_slot(slot));
  scratch_ = memory.allocate(plan_->scratch_bytes(), "scratch");
  if (use == GradientUse::accumulated)
    addends_ = memory.allocate(plan_->addend_bytes(), "gradients to be added");
  mirror_loss_scale(slots);
  gradients_ready_ = queue_.make_event();
  passes_ = plan_->backend().plan_arena_passes(passing ? std::span<float>() : gradients(),
                                               plan_->owned());
  const std::vector<std::vector<Use>> uses = uses_of(plan_->graph());
  for (Slot& slot : slots_)
    for (std::size_t i = 0; i < plan_->steps().size(); ++i)
      slot.operators.push_back(plan_->steps()[i].plan->bind(bindings_of(slot, i, uses)));
  is_stale_.assign(plan_->steps().size(), true);
}

Slot Program::make_slot(Size index) {
  MemorySource& memory = device().memory();
  Slot slot;
  slot.labels =
      memory.allocate(static_cast<Bytes>(plan_->batch()) * sizeof(std::int32_t), "labels");
  slot.activations = memory.allocate(plan_->activations().total, "activations");
  slot.saved = memory.allocate(plan_->saved_bytes(), "what operators save");
  slot.loss = cells_.as<float>().subspan(static_cast<std::size_t>(index) * kCell, 1);
  slot.feed = std::make_unique<BatchFeed>(device_, tensor_memory(slot, kDataTensor),
                                          plan_->graph().tensors[kDataTensor].spec.type,
                                          slot.labels.as<std::int32_t>());
  return slot;
}

void Program::mirror_loss_scale(Size slots) {
  loss_scale_ = {device(), cells_.as<float>().subspan(static_cast<std::size_t>(slots) * kCell, 1)};
  set_loss_scale(1);
}

std::span<float> Program::gradients() const {
  ensure(gradient_use_ != GradientUse::passing, "who wants all gradients has them kept");
  return gradients_.as<float>();
}

std::span<float> Program::gradients_of(Range slice) const {
  if (gradient_use_ != GradientUse::passing) return slice_of(gradients(), slice);
  const auto step = std::ranges::find(plan_->steps(), slice, &ProgramPlan::Step::arena);
  ensure(step != plan_->steps().end(), "gradients pass operator by operator");
  return slice_of(gradients_.as<float>(), step->passing);
}

std::span<std::byte> Program::tensor_memory(const Slot& slot, Size tensor) const {
  const Bytes begin = plan_->activations().tensors[static_cast<std::size_t>(tensor)];
  return slot.activations.as<std::byte>().subspan(begin, plan_->tensor_bytes(tensor));
}

std::span<std::byte> Program::gradient_memory(const Slot& slot, const Use& use) const {
  const auto reader = static_cast<std::size_t>(use.reader);
  const ActivationMemory& memory = plan_->activations();
  if (!memory.needed[reader][use.input]) return {};
  const Size tensor = plan_->graph().operators[reader].inputs[use.input];
  const TensorSpec& spec = plan_->graph().tensors[static_cast<std::size_t>(tensor)].spec;
  return slot.activations.as<std::byte>().subspan(memory.gradients[reader][use.input],
                                                  plan_->backend().bytes_of(spec));
}

Bindings Program::bindings_of(const Slot& slot, std::size_t step,
                              const std::vector<std::vector<Use>>& uses) const {
  const LoweredOperator& lowered = plan_->graph().operators[step];
  const ProgramPlan::Step& planned = plan_->steps()[step];
  Bindings bindings;
  for (std::size_t i = 0; i < lowered.inputs.size(); ++i) {
    bindings.inputs.emplace_back(tensor_memory(slot, lowered.inputs[i]));
    bindings.input_gradients.push_back(
        gradient_memory(slot, {.reader = static_cast<Size>(step), .input = i}));
  }
  if (lowered.output != kNoTensor) {
    bindings.output = tensor_memory(slot, lowered.output);
    if (planned.trained)
      bindings.output_gradients =
          output_gradients(slot, lowered.output, uses[static_cast<std::size_t>(lowered.output)]);
    else  // no backward pass
      bindings.output_gradients.resize(
          static_cast<std::size_t>(tensors_of(lowered.spec).gradient_terms));
  } else {
    bindings.labels = slot.labels.as<std::int32_t>();
    bindings.loss = slot.loss;
    bindings.loss_scale = loss_scale_.memory();
  }
  bindings.parameters = slice_of<const float>(parameters(), planned.arena);
  bindings.gradients = gradients_of(planned.arena);
  bindings.buffers = slice_of(buffers_.as<float>(), planned.buffers);
  bindings.prepared =
      prepared_.as<std::byte>().subspan(planned.prepared, planned.plan->prepared_bytes());
  bindings.saved = slot.saved.as<std::byte>().subspan(planned.saved, planned.plan->saved_bytes());
  bindings.scratch = scratch_.as<std::byte>().first(planned.plan->scratch_bytes());
  if (gradient_use_ == GradientUse::accumulated)
    bindings.addends = addends_.as<std::byte>().first(planned.plan->addend_bytes());
  return bindings;
}

std::vector<std::span<const std::byte>> Program::output_gradients(
    const Slot& slot, Size output, const std::vector<Use>& uses) const {
  std::vector<std::span<const std::byte>> gradients;
  for (const Use& use : uses) gradients.emplace_back(gradient_memory(slot, use));
  const LoweredGraph& graph = plan_->graph();
  if (output == graph.leaving && !graph.has_loss) gradients.emplace_back(leaving_gradient(slot));
  return gradients;
}

std::span<const std::byte> Program::leaving(Size slot) const {
  return tensor_memory(at(slot), plan_->graph().leaving);
}

std::span<std::byte> Program::leaving_gradient(Size slot) const {
  return leaving_gradient(at(slot));
}

std::span<std::byte> Program::leaving_gradient(const Slot& slot) const {
  const LoweredGraph& graph = plan_->graph();
  if (graph.has_loss)
    return gradient_memory(slot, {.reader = static_cast<Size>(graph.of_layers()), .input = 0});
  if (!graph.tensors[static_cast<std::size_t>(graph.leaving)].needs_gradient) return {};
  return slot.activations.as<std::byte>().subspan(plan_->activations().leaving_gradient,
                                                  plan_->tensor_bytes(graph.leaving));
}

void Program::read_logits(std::span<float> values, Size slot) const {
  const Size tensor = plan_->graph().leaving;
  const auto mirror = read_back(device(), tensor_memory(at(slot), tensor));
  plan_->backend().export_tensor(plan_->graph().tensors[static_cast<std::size_t>(tensor)].spec,
                                 mirror.values(), values);
}

/// The first slot's operators prepare for all, since slots share what is prepared.
void Program::refresh() {
  for (std::size_t i = 0; i < is_stale_.size(); ++i)
    if (is_stale_[i]) slots_.front().operators[i]->parameters_changed();
  is_stale_.assign(is_stale_.size(), false);
}

void Program::parameters_changed(Range slice) {
  for (std::size_t i = 0; i < is_stale_.size(); ++i)
    if (!intersect(plan_->steps()[i].arena, slice).empty()) is_stale_[i] = true;
}

template <class Work>
void Program::run_operator(const Slot& slot, std::size_t index, const char* pass,
                           const Work& work) {
  try {
    work(*slot.operators[index]);
  } catch (const Error& error) {
    throw Error(
        error.code(),
        fmt::format("{} of '{}': {}", pass, plan_->graph().operators[index].node, error.what()),
        error.remedy());
  }
}

template <class Work>
void Program::run_loss(const Slot& slot, const char* pass, const Work& work) {
  if (plan_->graph().has_loss) run_operator(slot, plan_->graph().of_layers(), pass, work);
}

void Program::forward_layers(Size slot) {
  refresh();
  for (std::size_t i = 0; i < plan_->graph().of_layers(); ++i)
    run_operator(at(slot), i, "forward", [](Operator& planned) { planned.forward(); });
}

void Program::forward(Size slot) {
  forward_layers(slot);
  run_loss(at(slot), "forward", [](Operator& planned) { planned.forward(); });
  at(slot).feed->note_used();
}

void Program::evaluate(Size slot) {
  refresh();
  for (std::size_t i = 0; i < at(slot).operators.size(); ++i)
    run_operator(at(slot), i, "forward", [](Operator& planned) { planned.evaluate(); });
  at(slot).feed->note_used();
}

void Program::backward(Size slot, GradientMode mode, GradientsReady ready) {
  run_loss(at(slot), "backward", [&](Operator& planned) { planned.backward(mode); });
  backward_layers(mode, ready, slot);
}

void Program::backward_layers(GradientMode mode, GradientsReady ready, Size slot) {
  ensure(gradient_use_ == GradientUse::accumulated || mode == GradientMode::replace,
         "this program adds up gradients");
  run_backward(at(slot), ready, [mode](Operator& planned, Range) {
    planned.backward(mode);
    return false;
  });
}

void Program::backward_and_update(bool keep_gradients, UpdatePiece update, GradientsReady ready) {
  ensure(slots_.size() == 1, "no other micro-batch has seen parameters that are updated");
  const Slot& slot = slots_.front();
  run_loss(slot, "backward", [](Operator& planned) { planned.backward(GradientMode::replace); });
  run_backward(slot, ready, [&](Operator& planned, Range arena) {
    if (!planned.updates_in_backward()) {
      planned.backward(GradientMode::replace);
      return false;
    }
    planned.backward_and_update(
        keep_gradients, [&](int member, Range piece, std::span<const float> gradients) {
          update(member, {arena.begin + piece.begin, arena.begin + piece.end}, gradients);
        });
    return true;
  });
}

/// From the gradient of what left on. backward(operator, its part of the arena) returns whether it
/// has updated the parameters.
template <class Backward>
void Program::run_backward(const Slot& slot, GradientsReady ready, const Backward& backward) {
  const auto mark = [this]() -> const Event& {
    if (!is_immediate_) queue_.record(*gradients_ready_);
    return *gradients_ready_;
  };
  for (std::size_t i = plan_->graph().of_layers(); i-- > 0;) {
    const ProgramPlan::Step& step = plan_->steps()[i];
    if (!step.trained) continue;
    bool is_updated = false;
    run_operator(slot, i, "backward",
                 [&](Operator& planned) { is_updated = backward(planned, step.arena); });
    if (!step.arena.empty() && !is_updated) ready(step.arena, mark);
  }
  slot.feed->note_used();
}

void Program::import_step(std::size_t step, FunctionRef<std::span<const float>(Size)> next) {
  const ProgramPlan::Step& planned = plan_->steps()[step];
  const OperatorSpec& spec = plan_->graph().operators[step].spec;
  std::vector<std::span<const float>> tensors;
  for (const ParameterSpec& tensor : parameters_of(spec))
    tensors.push_back(next(tensor.shape.elements()));
  const auto arena = read_back(device(), slice_of(parameters(), planned.arena));
  planned.plan->import_parameters(tensors, arena.values());
  write_back(device(), arena);
  const HostMirror<float> statistics(device(), slice_of(running_statistics(), planned.buffers));
  for (const auto& part : consecutive(statistics.values(), buffers_of(spec)))
    std::ranges::copy(next(static_cast<Size>(part.size())), part.begin());
  write_back(device(), statistics);
}

void Program::initialise(std::uint64_t seed) {
  // One operator's tensors at a time: all of them would be a second copy of the model.
  std::size_t index = 0;
  for (std::size_t step = 0; step < plan_->steps().size(); ++step) {
    std::vector<std::vector<float>> values;
    import_step(step, [&](Size) {
      return std::span<const float>(values.emplace_back(drawn(plan_->tensors()[index++], seed)));
    });
  }
  parameters_changed();
}

void Program::import_tensors(const std::vector<NamedTensor>& values) {
  ensure(values.size() == plan_->tensors().size(), "one tensor for each parameter and statistic");
  for (std::size_t i = 0; i < values.size(); ++i)
    ensure(values[i].shape == plan_->tensors()[i].shape,
           "tensors come in the plan's order and shapes");
  std::size_t index = 0;
  for (std::size_t step = 0; step < plan_->steps().size(); ++step)
    import_step(step, [&](Size) { return std::span<const float>(values[index++].values); });
  parameters_changed();
}

std::vector<NamedTensor> Program::export_tensors() const {
  std::vector<NamedTensor> values;
  for (const ParameterSpec& tensor : plan_->tensors())
    values.push_back(
        {.name = tensor.name,
         .shape = tensor.shape,
         .values = std::vector<float>(static_cast<std::size_t>(tensor.shape.elements()))});
  std::size_t next = 0;
  for (std::size_t i = 0; i < plan_->steps().size(); ++i) {
    const ProgramPlan::Step& step = plan_->steps()[i];
    const OperatorSpec& spec = plan_->graph().operators[i].spec;
    std::vector<std::span<float>> tensors;
    for (std::size_t count = parameters_of(spec).size(); tensors.size() < count;)
      tensors.emplace_back(values[next++].values);
    const auto arena = read_back(device(), slice_of(parameters(), step.arena));
    step.plan->export_parameters(arena.values(), tensors);
    const auto statistics = read_back(device(), slice_of(running_statistics(), step.buffers));
    for (const auto& part : consecutive(statistics.values(), buffers_of(spec)))
      std::ranges::copy(part, values[next++].values.begin());
  }
  return values;
}

}  // namespace ptbench
