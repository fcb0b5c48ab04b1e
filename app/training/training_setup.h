#pragma once

#include <memory>
#include <vector>

#include "app/config/configuration.h"
#include "kernels/backend.h"
#include "kernels/choose.h"
#include "kernels/site.h"
#include "src/base/clock.h"
#include "src/comm/communicator.h"
#include "src/comm/control_channel.h"
#include "src/data/dataset.h"
#include "src/device/device.h"
#include "strategies/drag.h"
#include "strategies/replica_devices.h"
#include "strategies/strategy.h"
#include "workloads/program.h"

namespace ptbench {

/// What decides a training's arithmetic, beside model and data: that of a run, or of its oracle.
struct TrainingShape {
  BatchShape batch;  ///< of the rank that is trained here
  ElementType type = ElementType::f32;
  OptimizerSpec optimizer;
  LossScaleSpec loss_scale = {};
  bool keeps_gradients = true;  ///< as StepSpec::keeps_gradients
  /// The ranks are replicas of this process, which trains the micro-batches of all; the rank is 0.
  bool one_process = false;
  /// The device has memory of its own: the host sends it data in the type of activations.
  bool narrow_data = false;
  Size first_step = 0;  ///< of the first epoch: steps before it are left out

  [[nodiscard]] Lowering lowering() const {
    return {.batch = batch.micro_batch,
            .global_batch = batch.global_batch(),
            .type = type,
            .narrow_data = narrow_data};
  }
  [[nodiscard]] StepSpec step() const {
    return {.optimizer = optimizer,
            .accumulation_steps = batch.accumulation_steps,
            .loss_scale = loss_scale,
            .keeps_gradients = keeps_gradients};
  }
};

/// The run's shape on one of its ranks. Gradients pass where nothing of the run wants them all.
[[nodiscard]] TrainingShape shape_of(const RunConfig& config, Size rank);

/// One for each size that a rank's micro-batch has, the largest first: where these are unequal, all
/// of their operators have to be chosen.
[[nodiscard]] std::vector<TrainingShape> shapes_of_ranks(const TrainingShape& shape);

/// Where trainings run and on what; all of it outlives what is built.
struct TrainingContext {
  const RunConfig& config;
  const Graph& graph;
  const Dataset& data;
  const Site& site;  ///< of this rank's replica, or of the first one
  Communicator& communicator;
  ControlChannel& control;
  Communicator& alone;  ///< a world of one, for what this rank trains by itself
  ControlChannel& alone_control;
  DdpOptions data_parallel;
  ReplicaDevices* replica_devices = nullptr;  ///< where ranks are replicas of this process
  const Clock& clock;                         ///< of drags
  const SiteChoice& host;  ///< the CPU, where the oracle of another device computes

  [[nodiscard]] const KernelBackend& backend() const { return *site.backend; }
  [[nodiscard]] Device& device() const { return *site.device; }
};

/// The operators that a training consists of, with what a master computes for all replicas.
[[nodiscard]] std::vector<OperatorSpec> operators_of(const Graph& graph,
                                                     const TrainingShape& shape);

/// `choices` for ranks with unequal micro-batches, whose gradients are summed as they lie: where an
/// operator of a smaller one would keep its parameters elsewhere than that of the largest does, or
/// has no choice, it gets one that keeps them alike. Equal micro-batches: as they are. A pure
/// function; a run error names an operator that cannot be had.
[[nodiscard]] Choices with_one_layout(const TrainingContext& context, const TrainingShape& shape,
                                      Choices choices);

/// Samples in the order of the run's seed, for that batch, from the shape's first step on; where
/// replicas share one process, the samples of all of them.
[[nodiscard]] Sampler sampler_of(const TrainingContext& context, const TrainingShape& shape);

/// How many threads gather a batch for `device`: one where it shares the host's memory, since its
/// own threads do it; else as many as the process has cores, but no more than the host's memory
/// serves.
[[nodiscard]] int gather_threads(const RunConfig& config, const Device& device);

/// The run's strategy over this rank's replica, with data attached and weights still zero. All
/// ranks call it, in the same order.
[[nodiscard]] std::unique_ptr<Strategy> build_training(const TrainingContext& context,
                                                       const TrainingShape& shape,
                                                       std::shared_ptr<const ProgramPlan> plan);

/// The run's training as serial training in this process alone.
[[nodiscard]] std::unique_ptr<Strategy> build_serial(const TrainingContext& context,
                                                     const TrainingShape& shape,
                                                     std::shared_ptr<const ProgramPlan> plan);

/// What --slowdown makes each step of this process longer by, on all threads that compute it.
[[nodiscard]] Drag step_drag(const TrainingContext& context);

/// The run's initial weights: from its file, or drawn from its seed.
void start_weights(const RunConfig& config, Program& program);

/// The data that a run trains on. Throws usage errors for data that do not fit its workload, or the
/// memory.
[[nodiscard]] DataSource load_data(const RunConfig& config);

}  // namespace ptbench
