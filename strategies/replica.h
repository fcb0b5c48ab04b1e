#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "src/data/batch_loader.h"
#include "src/device/device.h"
#include "src/device/host_mirror.h"
#include "src/measure/step_phases.h"
#include "strategies/loss_scaling.h"
#include "workloads/program.h"

namespace ptbench {

/// What a training step is made of besides the model.
struct StepSpec {
  OptimizerSpec optimizer;
  Size accumulation_steps = 1;  ///< micro-batches of a replica in an optimizer step
  LossScaleSpec loss_scale = {};
  /// Whether all gradients of a step can be looked at after it. Else those of one micro-batch pass,
  /// which takes less memory; not with loss scaling, nor on a device with memory of its own.
  bool keeps_gradients = true;

  [[nodiscard]] GradientUse gradient_use() const {
    if (accumulation_steps > 1) return GradientUse::accumulated;
    return keeps_gradients ? GradientUse::kept : GradientUse::passing;
  }
};

/// Told when a replica computes and when it does not; both or neither are set.
struct ComputeObserver {
  std::function<void()> on_begin;
  std::function<void()> on_end;  ///< or it pauses, to announce gradients

  void begin() const {
    if (on_begin) on_begin();
  }
  void end() const {
    if (on_end) on_end();
  }
  explicit operator bool() const { return on_begin != nullptr; }
};

/// What a strategy over several replicas puts into a step that is recorded.
struct RecordedParts {
  FunctionRef<void()> begin;      ///< before the first micro-batch's forward pass
  Program::GradientsReady ready;  ///< as in Replica::compute_gradients
  FunctionRef<void()> update;     ///< after the last micro-batch: the update, or part of it
};

/// One full copy of a model on one device, with its optimizer and its share of the data. What
/// strategies work with: they see slices of arenas, not layers. Its calls give work to the device's
/// queue for computing, and wait for none of it unless they say so.
class Replica {
 public:
  using GradientsReady = Program::GradientsReady;

  /// `arenas` provides parameters, gradients, optimizer state and losses in memory of the plan's
  /// device, the device the rest. The plan's backend, its device and `arenas` outlive the replica.
  Replica(std::shared_ptr<const ProgramPlan> plan, const StepSpec& step, MemorySource& arenas);
  /// Waits for the device.
  ~Replica() { finish_quietly(device()); }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] Device& device() const { return program_.device(); }
  /// The device's queue for computing, to which the replica gives its work.
  [[nodiscard]] Queue& queue() const { return queue_; }
  [[nodiscard]] const StepSpec& step() const { return step_; }
  /// The whole arena, as one slice.
  [[nodiscard]] Range all() const { return {0, program_.plan().arena_elements()}; }

  /// Takes its micro-batches from `loader`, whose values are of the type of program().room().
  void attach(std::unique_ptr<BatchLoader> loader) { loader_ = std::move(loader); }
  [[nodiscard]] const BatchLoader& loader() const { return *loader_; }

  /// Runs this replica's micro-batches of the next global batch: data, forward, backward. Announces
  /// slices of the gradient arena as they become final, all of them in the last micro-batch.
  /// loss() is this replica's share from the first of them on. Not where gradients pass.
  void compute_gradients(GradientsReady ready);

  /// Where no other replica has a say: compute_gradients, and the update of all parameters as
  /// number `step`: by operators in the midst of their backward passes, of slices as their
  /// gradients become final, or of all together.
  void make_step(Size step);
  /// Whether make_step lets operators update in the midst of their backward passes, where they can.
  [[nodiscard]] bool updates_in_backward() const;
  /// Whether make_step leaves all gradients in the arena. Else those by which an operator updated
  /// its parameters in the midst of its backward pass are nowhere afterwards. Not where gradients
  /// pass.
  void keep_gradients(bool keep);
  /// Whether record_step may be called: the device can record, and nothing of a step is decided by
  /// the host on the way.
  [[nodiscard]] bool can_record_steps() const;
  /// Keeps what make_step gives to the device after it has loaded a batch, one recording for each
  /// kind of micro-batch (the first, the last, those between). After make_step of the same step,
  /// when libraries and kernels are loaded.
  void record_step(Size step);
  /// The same of compute_gradients(parts.ready), with the other parts, as update number `step`.
  void record_step(Size step, const RecordedParts& parts);
  [[nodiscard]] bool has_recorded_steps() const { return !recordings_.empty(); }
  /// What was recorded, with another batch and as update number `step`.
  void replay_step(Size step);
  /// One element of the device's memory: a share of the global batch's mean loss.
  [[nodiscard]] std::span<float> loss() const { return loss_.memory(); }
  /// For a loss that is computed elsewhere: one element a micro-batch, and their sum to loss().
  [[nodiscard]] std::span<float> losses() const { return losses_; }
  void add_up_losses() {
    if (losses_.size() > 1) program_.add_up(losses_, loss_.memory());
  }
  /// loss() on the host, once the queue's work is done, for which this waits.
  [[nodiscard]] float read_loss() const;

  /// Whether a slice may be updated before all gradients are known. Not with loss scaling, which
  /// skips a step whose gradients are not finite.
  [[nodiscard]] bool updates_slice_by_slice() const { return !scaler_.active(); }
  /// Whether slices are best updated as they become final, where no other replica has a say: it can
  /// be, and the device pays nothing for each.
  [[nodiscard]] bool updates_early() const;
  /// Updates the parameters of `slice`, unless non_finite() is not 0 then; `step` counts updates
  /// from 1. The team members who computed its gradients update it, unless divide_updates said
  /// otherwise. Where gradients pass, `slice` is the one that backward has just announced.
  void optimizer_step(Range slice, Size step);
  /// Whether slices may be updated on Device::beside(), while backward goes on: it is there, and no
  /// update is skipped.
  [[nodiscard]] bool updates_beside() const;
  /// Before the passes of a step in which update_beside is called; record_step does it by itself.
  void prepare_update(Size step) { optimizer_->prepare(step, 1 / scaler_.scale()); }
  /// As optimizer_step, of a slice that backward has announced, on Device::beside(), which has been
  /// ordered after its gradients. No observer is told of it, and it is no time of compute().
  void update_beside(Range slice, Size step);
  /// From now on updates take these slices only, and the members share each of them evenly, as they
  /// do where a communicator sums it. For replicas that update a part of the arena: the members may
  /// have computed very unequal shares of it.
  void divide_updates(std::vector<Range> slices);

  /// With loss scaling, after the gradients of `slices` are final: makes non_finite() 1 where one
  /// of them is not finite, so that the step may not be made, else 0.
  void find_non_finite(std::span<const Range> slices);
  /// One element of the device's memory.
  [[nodiscard]] std::span<float> non_finite() const { return non_finite_.memory(); }
  /// Whether non_finite() is 0 once the queue's work is done, for which this waits.
  [[nodiscard]] bool read_finite() const;
  /// The arenas of optimizer state, each as long as the parameters and laid out like them, in the
  /// device's memory.
  [[nodiscard]] std::vector<std::span<float>> optimizer_state() const;
  /// Updates to come are made at this rate.
  void set_learning_rate(double lr);
  /// From now on running statistics follow the first of every `period` micro-batches alone, as they
  /// do on rank 0 of a training whose `period` ranks this replica stands for.
  void follow_statistics_every(Size period);

  /// From now on called after each micro-batch of a step, with its number, when the gradient arena
  /// holds the sum so far; make_step may have updated parameters by then. Nothing with an empty
  /// one. Not where gradients pass.
  void after_each_micro_batch(std::function<void(Size micro_batch)> call);

  /// Where no other replica has a say: updates everything, with loss scaling only if all gradients
  /// are finite. `step` as in optimizer_step.
  void update_all(Size step);
  /// After make_step, replay_step or update_all: whether parameters were updated. With loss scaling
  /// it waits for the device, and adapts the scale.
  [[nodiscard]] bool finish_step();
  /// Adapts the loss scale; `finite` is the same on every replica.
  void finish_scaled_step(bool finite) { scaler_.update(finite); }
  [[nodiscard]] const LossScaler& scaler() const { return scaler_; }
  /// Of the same spec.
  void set_scaler(const LossScaler& scaler) { scaler_ = scaler; }

  /// From now on this replica's passes and updates are one piece of work after the other, and
  /// `observer` is told of each: work ends after each forward pass, before each announcement of
  /// gradients, after backward and after each update. Phases contain what it does. Not where
  /// gradients pass.
  void observe_computing(ComputeObserver observer);

  /// As Strategy::observe, for the phases data, forward, backward and optimizer.
  void observe(PhaseTimer* timer) { timer_ = timer; }

 private:
  [[nodiscard]] bool gradients_pass() const {
    return program_.gradient_use() == GradientUse::passing;
  }
  void plan_optimizer();
  void allocate_cells(MemorySource& arenas);
  void load(Size micro_batch);
  void apply_loss_scale();
  void update_in_backward(Size step);
  void update_early(Range slice, Size step);
  void update_late(Size step);
  [[nodiscard]] bool is_last(Size micro_batch) const {
    return micro_batch + 1 == step_.accumulation_steps;
  }
  void compute(Size micro_batch, GradientsReady ready);
  void keep_loss(Size micro_batch);
  void end_micro_batch(Size micro_batch);
  void require_updated(Range slice) const;
  [[nodiscard]] std::size_t recording_of(Size micro_batch) const;
  void forward(Size micro_batch);
  void forward_without_statistics();
  void backward(Size micro_batch, GradientsReady ready);

  Program program_;
  Queue& queue_;
  StepSpec step_;
  LossScaler scaler_;
  std::vector<Buffer> state_;
  std::vector<OwnedRange> owned_;  ///< which member updates which part
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Range> updated_;  ///< the slices that it divides evenly; empty: it takes any slice
  std::unique_ptr<BatchLoader> loader_;
  PhaseTimer* timer_ = nullptr;
  ComputeObserver work_;
  bool keeps_gradients_ = false;
  Size statistics_period_ = 1;
  std::function<void(Size)> after_micro_batch_;
  Buffer kept_statistics_;   ///< while a micro-batch runs that they do not follow
  Buffer cells_;             ///< a line each: the loss, whether gradients are finite, the losses
  std::span<float> losses_;  ///< by micro-batch
  HostMirror<float> loss_;
  HostMirror<float> non_finite_;
  std::vector<std::unique_ptr<Recording>> recordings_;  ///< empty: steps are given anew each time
};

}  // namespace ptbench
