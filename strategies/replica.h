#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "src/data/batch_loader.h"
#include "src/measure/step_phases.h"
#include "strategies/drag.h"
#include "strategies/loss_scaling.h"
#include "workloads/program.h"

namespace ptbench {

/// What a training step is made of besides the model.
struct StepSpec {
  OptimizerSpec optimizer;
  Size accumulation_steps = 1;  ///< micro-batches of a replica in an optimizer step
  LossScaleSpec loss_scale = {};
};

/// One full copy of a model on one device, with its optimizer and its share of the data. What
/// strategies work with: they see slices of arenas, not layers.
class Replica {
 public:
  using GradientsReady = Program::GradientsReady;

  /// `arenas` provides parameters, gradients and optimizer state, `memory` the rest. The plan's
  /// backend, both sources and their devices outlive the replica.
  Replica(std::shared_ptr<const ProgramPlan> plan, const StepSpec& step, MemorySource& arenas,
          MemorySource& memory);

  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] const StepSpec& step() const { return step_; }
  /// The whole arena, as one slice.
  [[nodiscard]] Range all() const { return {0, program_.plan().arena_elements()}; }

  /// Takes its micro-batches from `loader`, which fills program().input() and labels().
  void attach(std::unique_ptr<BatchLoader> loader) { loader_ = std::move(loader); }
  [[nodiscard]] const BatchLoader& loader() const { return *loader_; }

  /// Runs this replica's micro-batches of the next global batch: data, forward, backward. Announces
  /// slices of the gradient arena as they become final, all of them in the last micro-batch.
  /// Returns the replica's share of the global batch's mean loss.
  float compute_gradients(GradientsReady ready);

  /// Whether a slice may be updated before all gradients are known. Not with loss scaling, which
  /// skips a step whose gradients are not finite.
  [[nodiscard]] bool updates_slice_by_slice() const { return !scaler_.active(); }
  /// Updates the parameters of `slice`; `step` counts updates from 1. The team members who computed
  /// its gradients update it, unless divide_updates said otherwise.
  void optimizer_step(Range slice, Size step);
  /// From now on optimizer_step takes these slices only, and the members share each of them evenly,
  /// as they do where a communicator sums it. For who updates a part of the arena: what the members
  /// computed of it may be very unequal.
  void divide_updates(std::vector<Range> slices);

  /// With loss scaling, after all gradients are final: whether they are finite, so that the step
  /// may be made.
  [[nodiscard]] bool gradients_finite() { return gradients_finite(all()); }
  /// Of `slice` alone, where this replica has the final gradients of no more.
  [[nodiscard]] bool gradients_finite(Range slice);
  /// The arenas of optimizer state, each as long as the parameters and laid out like them.
  [[nodiscard]] std::vector<std::span<float>> optimizer_state() const;
  /// Updates to come are made at this rate.
  void set_learning_rate(double lr);
  /// From now on running statistics follow the first of every `period` micro-batches alone, as they
  /// do on rank 0 of a training whose `period` ranks this replica stands for.
  void follow_statistics_every(Size period);

  /// From now on called after each micro-batch of a step, with its number, when the gradient arena
  /// holds the sum so far; nothing with an empty one.
  void after_each_micro_batch(std::function<void(Size micro_batch)> call) {
    after_micro_batch_ = std::move(call);
  }

  /// Adapts the loss scale; `finite` is the same on every replica.
  void finish_scaled_step(bool finite) { scaler_.update(finite); }
  [[nodiscard]] const LossScaler& scaler() const { return scaler_; }
  /// Of the same spec.
  void set_scaler(const LossScaler& scaler) { scaler_ = scaler; }

  /// From now on this replica's passes and updates are dragged, in imbalance on purpose: after each
  /// forward pass, before each announcement of gradients, after backward and after each update.
  /// Phases contain it.
  void slow_down(Drag drag) { drag_ = std::move(drag); }

  /// As Strategy::observe, for the phases data, forward, backward and optimizer.
  void observe(PhaseTimer* timer) { timer_ = timer; }

 private:
  void plan_optimizer();
  void load(Size micro_batch);
  float forward(Size micro_batch);
  void backward(Size micro_batch, GradientsReady ready);

  Program program_;
  StepSpec step_;
  LossScaler scaler_;
  std::vector<Buffer> state_;
  std::vector<OwnedRange> owned_;  ///< which member updates which part
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Range> updated_;  ///< the slices that it divides evenly; empty: it takes any slice
  std::unique_ptr<BatchLoader> loader_;
  PhaseTimer* timer_ = nullptr;
  Drag drag_;
  Size statistics_period_ = 1;
  std::function<void(Size)> after_micro_batch_;
  std::vector<float> kept_statistics_;  ///< while a micro-batch runs that they do not follow
};

}  // namespace ptbench
