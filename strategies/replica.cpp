#include "strategies/replica.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/error.h"
#include "src/comm/communicator.h"

namespace ptbench {
namespace {

std::uint64_t payload_of(Size micro_batch) { return static_cast<std::uint64_t>(micro_batch); }

Bytes bytes_of(Range slice) { return float_bytes(slice.size()); }

}  // namespace

Replica::Replica(std::shared_ptr<const ProgramPlan> plan, const StepSpec& step,
                 MemorySource& arenas)
    : program_(std::move(plan), arenas, step.gradient_use()),
      queue_(program_.device().compute()),
      step_(step),
      scaler_(step.loss_scale) {
  for (int i = 0; i < step.optimizer.state_arenas(); ++i)
    state_.push_back(arenas.allocate(program_.parameters().size_bytes(), "optimizer state"));
  owned_ = program_.plan().owned();
  allocate_cells(arenas);
  plan_optimizer();
  ensure(!gradients_pass() || updates_in_backward(), "gradients that pass are used at once");
}

void Replica::keep_gradients(bool keep) {
  ensure(!keep || !gradients_pass(), "gradients that pass are not kept");
  keeps_gradients_ = keep;
}

void Replica::after_each_micro_batch(std::function<void(Size micro_batch)> call) {
  ensure(!call || !gradients_pass(), "gradients that pass are not there after a micro-batch");
  after_micro_batch_ = std::move(call);
}

void Replica::observe_computing(ComputeObserver observer) {
  ensure(!gradients_pass(), "a replica whose work is observed keeps its gradients");
  work_ = std::move(observer);
}

void Replica::allocate_cells(MemorySource& arenas) {
  constexpr std::size_t kLine = 16;  // floats
  const auto losses = static_cast<std::size_t>(step_.accumulation_steps);
  cells_ = arenas.allocate((2 * kLine + losses) * sizeof(float), "losses of micro-batches");
  loss_ = {device(), losses > 1 ? cells_.as<float>().first(1) : program_.loss()};
  non_finite_ = {device(), cells_.as<float>().subspan(kLine, 1)};
  losses_ = losses > 1 ? cells_.as<float>().subspan(2 * kLine, losses) : loss_.memory();
}

std::vector<std::span<float>> Replica::optimizer_state() const {
  std::vector<std::span<float>> spans;
  for (const Buffer& state : state_) spans.push_back(state.as<float>());
  return spans;
}

void Replica::plan_optimizer() {
  const OptimizerArenas arenas{
      .parameters = program_.parameters(),
      .gradients = gradients_pass() ? std::span<float>() : program_.gradients(),
      .state = optimizer_state(),
      .skip = scaler_.active() ? non_finite() : std::span<float>()};
  recordings_.clear();  // they update by the optimizer before
  optimizer_ = program_.plan().backend().plan_optimizer(step_.optimizer, arenas, owned_);
}

void Replica::set_learning_rate(double lr) {
  device().finish();
  step_.optimizer.lr = lr;
  plan_optimizer();
}

void Replica::follow_statistics_every(Size period) {
  device().finish();
  statistics_period_ = period;
  if (period > 1)
    kept_statistics_ = device().memory().allocate(program_.running_statistics().size_bytes(),
                                                  "running statistics that are kept");
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
  device().finish();
  plan_optimizer();
  updated_ = std::move(slices);
}

void Replica::compute_gradients(GradientsReady ready) {
  ensure(!gradients_pass(), "gradients that pass are used by make_step");
  apply_loss_scale();
  for (Size micro_batch = 0; micro_batch < step_.accumulation_steps; ++micro_batch) {
    load(micro_batch);
    compute(micro_batch, ready);
    end_micro_batch(micro_batch);
  }
}

void Replica::apply_loss_scale() {
  if (scaler_.active()) program_.set_loss_scale(scaler_.scale());
}

/// The loss is whole before the last backward pass, so that ranks can sum it meanwhile.
void Replica::compute(Size micro_batch, GradientsReady ready) {
  forward(micro_batch);
  if (is_last(micro_batch)) {
    keep_loss(micro_batch);
    add_up_losses();
    backward(micro_batch, ready);
  } else {
    backward(micro_batch, [](Range, Program::ReadyMark) {});
  }
}

/// The next micro-batch overwrites it.
void Replica::keep_loss(Size micro_batch) {
  if (losses_.size() > 1)
    queue().copy(std::as_bytes(program_.loss()),
                 std::as_writable_bytes(losses_.subspan(static_cast<std::size_t>(micro_batch), 1)));
}

/// A recording serves several micro-batches, but for the last: their losses are kept here.
void Replica::end_micro_batch(Size micro_batch) {
  if (!is_last(micro_batch)) keep_loss(micro_batch);
  if (after_micro_batch_) after_micro_batch_(micro_batch);
}

void Replica::make_step(Size step) {
  if (updates_in_backward()) {
    load(0);
    forward(0);
    update_in_backward(step);
    end_micro_batch(0);
    return;
  }
  compute_gradients([&](Range slice, Program::ReadyMark) { update_early(slice, step); });
  update_late(step);
}

/// Backward is done with an operator's parameters once it has announced their gradients, so the
/// update can follow at once, while they are still in the caches of those who computed them. A
/// device with memory of its own pays for each update with a launch, and makes one of all.
bool Replica::updates_early() const {
  return updates_slice_by_slice() && device().shares_memory_with_host();
}

/// Gradients that are added to those of micro-batches before are whole before they are final.
bool Replica::updates_in_backward() const {
  return updates_early() && step_.accumulation_steps == 1 && optimizer_->takes_pieces() && !work_;
}

/// The thread that steps is member 0, whose updates alone are told from its backward pass.
void Replica::update_in_backward(Size step) {
  const PhaseScope scope(timer_, StepPhase::backward, payload_of(0));
  program_.backward_and_update(
      keeps_gradients_ || after_micro_batch_ != nullptr,
      [&](int member, Range piece, std::span<const float> gradients) {
        std::optional<PhaseScope> update;
        if (member == 0) update.emplace(timer_, StepPhase::optimizer, bytes_of(piece));
        optimizer_->update_piece(gradients, piece, step);
      },
      [&](Range slice, Program::ReadyMark) { optimizer_step(slice, step); });
}

void Replica::update_early(Range slice, Size step) {
  if (updates_early()) optimizer_step(slice, step);
}

void Replica::update_late(Size step) {
  if (!updates_early()) update_all(step);
}

bool Replica::can_record_steps() const {
  return queue_.can_record() && !work_ && statistics_period_ == 1;
}

/// Micro-batches between the first and the last are alike: they add to gradients that are there,
/// and update nothing.
std::size_t Replica::recording_of(Size micro_batch) const {
  if (micro_batch == 0) return 0;
  return is_last(micro_batch) && step_.accumulation_steps > 2 ? 2 : 1;
}

void Replica::record_step(Size step) {
  const auto ready = [&](Range slice, Program::ReadyMark) { update_early(slice, step); };
  record_step(step, {.begin = [] {}, .ready = ready, .update = [&] { update_late(step); }});
}

/// The optimizer is told the step beforehand: recorded, that would be told again in each replay.
void Replica::record_step(Size step, const RecordedParts& parts) {
  ensure(can_record_steps(), "steps that the host decides nothing in are recorded");
  recordings_.clear();
  prepare_update(step);
  program_.parameters_changed();  // as before each first micro-batch
  for (Size micro_batch = 0; micro_batch < step_.accumulation_steps; ++micro_batch)
    if (recording_of(micro_batch) == recordings_.size())
      recordings_.push_back(queue().keep([&] {
        if (micro_batch == 0) parts.begin();
        compute(micro_batch, parts.ready);
        if (is_last(micro_batch)) parts.update();
      }));
}

void Replica::replay_step(Size step) {
  apply_loss_scale();
  prepare_update(step);
  for (Size micro_batch = 0; micro_batch < step_.accumulation_steps; ++micro_batch) {
    load(micro_batch);
    recordings_[recording_of(micro_batch)]->replay();
    end_micro_batch(micro_batch);
  }
  program_.parameters_changed();  // for who evaluates the model after it
}

float Replica::read_loss() const {
  loss_.fetch(queue());
  queue().finish();
  return loss_.values().front();
}

void Replica::load(Size micro_batch) {
  const PhaseScope scope(timer_, StepPhase::data, payload_of(micro_batch));
  loader_->next(program_.await_room());
  program_.send_batch();
}

void Replica::forward(Size micro_batch) {
  const PhaseScope scope(timer_, StepPhase::forward, payload_of(micro_batch));
  work_.begin();
  if (statistics_period_ == 1 || micro_batch % statistics_period_ == 0)
    program_.forward();
  else
    forward_without_statistics();
  work_.end();
}

/// Running statistics stay as they are.
void Replica::forward_without_statistics() {
  const auto statistics = std::as_writable_bytes(program_.running_statistics());
  queue().copy(statistics, kept_statistics_.as<std::byte>());
  program_.forward();
  queue().copy(kept_statistics_.as<std::byte>(), statistics);
}

void Replica::backward(Size micro_batch, GradientsReady ready) {
  const PhaseScope scope(timer_, StepPhase::backward, payload_of(micro_batch));
  work_.begin();
  program_.backward(micro_batch == 0 ? GradientMode::replace : GradientMode::add,
                    [&](Range slice, Program::ReadyMark mark) {
                      work_.end();
                      ready(slice, mark);
                      work_.begin();
                    });
  work_.end();
}

void Replica::find_non_finite(std::span<const Range> slices) {
  std::uint64_t bytes = 0;
  for (const Range& slice : slices) bytes += bytes_of(slice);
  const PhaseScope scope(timer_, StepPhase::optimizer, bytes);
  work_.begin();
  program_.find_non_finite(slices, non_finite());
  work_.end();
}

bool Replica::read_finite() const {
  non_finite_.fetch(queue());
  queue().finish();
  return non_finite_.values().front() == 0;
}

void Replica::require_updated(Range slice) const {
  ensure(updated_.empty() || std::ranges::find(updated_, slice) != updated_.end(),
         "a slice is one of those that updates were divided for");
}

bool Replica::updates_beside() const {
  return device().beside() != nullptr && updates_slice_by_slice();
}

/// Operators round changed parameters anew in their next forward pass, on the queue for computing.
void Replica::update_beside(Range slice, Size step) {
  const PhaseScope scope(timer_, StepPhase::optimizer, bytes_of(slice));
  require_updated(slice);
  optimizer_->step_in(*device().beside(), slice, step, 1 / scaler_.scale());
  program_.parameters_changed(slice);
}

void Replica::optimizer_step(Range slice, Size step) {
  const PhaseScope scope(timer_, StepPhase::optimizer, bytes_of(slice));
  require_updated(slice);
  work_.begin();
  if (gradients_pass()) {
    optimizer_->step_by(program_.gradients_of(slice), slice, step);
  } else {
    optimizer_->step(slice, step, 1 / scaler_.scale());
  }
  work_.end();
  program_.parameters_changed(slice);
}

void Replica::update_all(Size step) {
  const Range slice = all();
  if (scaler_.active()) find_non_finite(std::span(&slice, 1));
  optimizer_step(slice, step);
}

bool Replica::finish_step() {
  if (!scaler_.active()) return true;
  const bool finite = read_finite();
  finish_scaled_step(finite);
  return finite;
}

}  // namespace ptbench
