#include "strategies/replica.h"

namespace ptbench {

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
    loader_->next();
    loss += program_.forward();
    const auto mode =
        micro_batch == 0 ? Program::GradientMode::replace : Program::GradientMode::add;
    if (micro_batch + 1 < accumulation_steps_)
      program_.backward(mode, [](Range) {});
    else
      program_.backward(mode, ready);
  }
  return loss;
}

void Replica::optimizer_step(Range slice, Size step) {
  optimizer_->step(slice, step, 1 / scaler_.scale());
  program_.parameters_changed();
}

}  // namespace ptbench
