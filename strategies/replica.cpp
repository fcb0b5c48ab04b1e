#include "strategies/replica.h"

namespace ptbench {

Replica::Replica(std::shared_ptr<const ProgramPlan> plan, const KernelBackend& backend,
                 const OptimizerSpec& optimizer, MemorySource& arenas, MemorySource& memory)
    : program_(std::move(plan), arenas, memory) {
  OptimizerArenas spans{
      .parameters = program_.parameters(), .gradients = program_.gradients(), .state = {}};
  for (int i = 0; i < optimizer.state_arenas(); ++i) {
    state_.push_back(arenas.allocate(program_.parameters().size_bytes(), "optimizer state"));
    spans.state.push_back(state_.back().as<float>());
  }
  optimizer_ = backend.plan_optimizer(optimizer, spans, program_.plan().owned());
}

}  // namespace ptbench
