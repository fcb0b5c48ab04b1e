#include "strategies/replica.h"

#include <algorithm>
#include <utility>

#include "src/base/error.h"
#include "src/comm/communicator.h"

namespace ptbench {
namespace {

std::uint64_t payload_of(Size micro_batch) { return static_cast<std::uint64_t>(micro_batch); }

Bytes bytes_of(Range slice) { return static_cast<Bytes>(slice.size()) * sizeof(float); }

}  // namespace

Replica::Replica(std::shared_ptr<const ProgramPlan> plan, const StepSpec& step,
                 MemorySource& arenas, MemorySource& memory)
    : program_(std::move(plan), arenas, memory, step.accumulation_steps > 1),
      step_(step),
      scaler_(step.loss_scale) {
  for (int i = 0; i < step.optimizer.state_arenas(); ++i)
    state_.push_back(arenas.allocate(program_.parameters().size_bytes(), "optimizer state"));
  owned_ = program_.plan().owned();
  plan_optimizer();
}

std::vector<std::span<float>> Replica::optimizer_state() const {
  std::vector<std::span<float>> spans;
  for (const Buffer& state : state_) spans.push_back(state.as<float>());
  return spans;
}

void Replica::plan_optimizer() {
  const OptimizerArenas arenas{.parameters = program_.parameters(),
                               .gradients = program_.gradients(),
                               .state = optimizer_state()};
  optimizer_ = program_.plan().backend().plan_optimizer(step_.optimizer, arenas, owned_);
}

void Replica::set_learning_rate(double lr) {
  step_.optimizer.lr = lr;
  plan_optimizer();
}

void Replica::follow_statistics_every(Size period) {
  statistics_period_ = period;
  if (period > 1) kept_statistics_.resize(program_.running_statistics().size());
}

void Replica::divide_updates(std::vector<Range> slices) {
  int members = 1;
  for (const OwnedRange& owned : program_.plan().owned())
    members = std::max(members, owned.member + 1);
  std::vector<OwnedRange> divided;
  for (const Range& slice : slices)
    for (int member = 0; member < members; ++member) {
      const Range part = rank_part(slice.size(), member, members);
      if (!part.empty())
        divided.push_back(
            {.range = {slice.begin + part.begin, slice.begin + part.end}, .member = member});
    }
  owned_ = std::move(divided);
  plan_optimizer();
  updated_ = std::move(slices);
}

float Replica::compute_gradients(GradientsReady ready) {
  if (scaler_.active()) program_.set_loss_scale(scaler_.scale());
  double loss = 0;  // float rounds each of many small shares
  for (Size micro_batch = 0; micro_batch < step_.accumulation_steps; ++micro_batch) {
    load(micro_batch);
    loss += double{forward(micro_batch)};
    if (micro_batch + 1 < step_.accumulation_steps)
      backward(micro_batch, [](Range) {});
    else
      backward(micro_batch, ready);
    if (after_micro_batch_) after_micro_batch_(micro_batch);
  }
  return static_cast<float>(loss);
}

void Replica::load(Size micro_batch) {
  const PhaseScope scope(timer_, StepPhase::data, payload_of(micro_batch));
  loader_->next();
}

float Replica::forward(Size micro_batch) {
  const PhaseScope scope(timer_, StepPhase::forward, payload_of(micro_batch));
  drag_.begin();
  const bool follows = micro_batch % statistics_period_ == 0;
  if (!follows) std::ranges::copy(program_.running_statistics(), kept_statistics_.begin());
  const float loss = program_.forward();
  if (!follows) std::ranges::copy(kept_statistics_, program_.running_statistics().begin());
  drag_.end();
  return loss;
}

void Replica::backward(Size micro_batch, GradientsReady ready) {
  const PhaseScope scope(timer_, StepPhase::backward, payload_of(micro_batch));
  drag_.begin();
  program_.backward(micro_batch == 0 ? Program::GradientMode::replace : Program::GradientMode::add,
                    [&](Range slice) {
                      drag_.end();
                      ready(slice);
                      drag_.begin();
                    });
  drag_.end();
}

bool Replica::gradients_finite(Range slice) {
  const PhaseScope scope(timer_, StepPhase::optimizer, bytes_of(slice));
  drag_.begin();
  const bool finite = program_.gradients_finite(slice);
  drag_.end();
  return finite;
}

void Replica::optimizer_step(Range slice, Size step) {
  const PhaseScope scope(timer_, StepPhase::optimizer, bytes_of(slice));
  ensure(updated_.empty() || std::ranges::find(updated_, slice) != updated_.end(),
         "a slice is one of those that updates were divided for");
  drag_.begin();
  optimizer_->step(slice, step, 1 / scaler_.scale());
  drag_.end();
  program_.parameters_changed();
}

}  // namespace ptbench
