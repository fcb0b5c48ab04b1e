#include "strategies/replica.h"

namespace ptbench {
namespace {

std::uint64_t payload_of(Size micro_batch) { return static_cast<std::uint64_t>(micro_batch); }

Bytes bytes_of(Range slice) { return static_cast<Bytes>(slice.size()) * sizeof(float); }

}  // namespace

Replica::Replica(std::shared_ptr<const ProgramPlan> plan, const StepSpec& step,
                 MemorySource& arenas, MemorySource& memory)
    : program_(std::move(plan), arenas, memory, step.accumulation_steps > 1),
      accumulation_steps_(step.accumulation_steps),
      scaler_(step.loss_scale) {
  OptimizerArenas spans{
      .parameters = program_.parameters(), .gradients = program_.gradients(), .state = {}};
  for (int i = 0; i < step.optimizer.state_arenas(); ++i) {
    state_.push_back(arenas.allocate(program_.parameters().size_bytes(), "optimizer state"));
    spans.state.push_back(state_.back().as<float>());
  }
  const KernelBackend& backend = program_.plan().backend();
  optimizer_ = backend.plan_optimizer(step.optimizer, spans, program_.plan().owned());
}

float Replica::compute_gradients(GradientsReady ready) {
  if (scaler_.active()) program_.set_loss_scale(scaler_.scale());
  float loss = 0;
  for (Size micro_batch = 0; micro_batch < accumulation_steps_; ++micro_batch) {
    load(micro_batch);
    loss += forward(micro_batch);
    if (micro_batch + 1 < accumulation_steps_)
      backward(micro_batch, [](Range) {});
    else
      backward(micro_batch, ready);
  }
  return loss;
}

void Replica::load(Size micro_batch) {
  const PhaseScope scope(timer_, StepPhase::data, payload_of(micro_batch));
  loader_->next();
}

float Replica::forward(Size micro_batch) {
  const PhaseScope scope(timer_, StepPhase::forward, payload_of(micro_batch));
  return program_.forward();
}

void Replica::backward(Size micro_batch, GradientsReady ready) {
  const PhaseScope scope(timer_, StepPhase::backward, payload_of(micro_batch));
  program_.backward(micro_batch == 0 ? Program::GradientMode::replace : Program::GradientMode::add,
                    ready);
}

bool Replica::gradients_finite(Range slice) {
  const PhaseScope scope(timer_, StepPhase::optimizer, bytes_of(slice));
  return program_.gradients_finite(slice);
}

void Replica::optimizer_step(Range slice, Size step) {
  const PhaseScope scope(timer_, StepPhase::optimizer, bytes_of(slice));
  optimizer_->step(slice, step, 1 / scaler_.scale());
  program_.parameters_changed();
}

}  // namespace ptbench
