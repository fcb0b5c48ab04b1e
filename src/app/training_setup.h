#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/choose.h"
#include "src/app/configuration.h"
#include "src/comm/communicator.h"
#include "src/data/dataset.h"
#include "src/device/device.h"
#include "strategies/strategy.h"
#include "workloads/program.h"

namespace ptbench {

/// What decides a training's arithmetic, beside model and data: that of a run, or of its oracle.
struct TrainingShape {
  Size micro_batch = 0;
  ElementType type = ElementType::f32;
  StepSpec step;
  Size ranks = 1;  ///< that share the global batch
  Size rank = 0;   ///< whose micro-batches are trained here
  [[nodiscard]] Size global_batch() const { return micro_batch * step.accumulation_steps * ranks; }
  [[nodiscard]] Lowering lowering() const {
    return {.batch = micro_batch, .global_batch = global_batch(), .type = type};
  }
};

/// Where trainings run and on what; all of it outlives what is built.
struct TrainingGround {
  const RunConfig& config;
  const Graph& graph;
  const Dataset& data;
  const KernelBackend& backend;
  CpuDevice& device;
  Communicator& communicator;
  Communicator& alone;  ///< a world of one, for what this rank trains by itself
  DdpOptions data_parallel;
};

/// The operators that a training consists of.
[[nodiscard]] std::vector<OperatorSpec> operators_of(const Graph& graph,
                                                     const TrainingShape& shape);

/// Samples in the order of the run's seed, for that batch.
[[nodiscard]] Sampler sampler_of(const TrainingGround& ground, const TrainingShape& shape);

/// The run's strategy over this rank's replica, with data attached and weights still zero. All
/// ranks call it, in the same order.
[[nodiscard]] std::unique_ptr<Strategy> build_training(const TrainingGround& ground,
                                                       const TrainingShape& shape,
                                                       std::shared_ptr<const ProgramPlan> plan);

/// The same as serial training in this process alone.
[[nodiscard]] std::unique_ptr<Strategy> build_serial(const TrainingGround& ground,
                                                     const TrainingShape& shape,
                                                     std::shared_ptr<const ProgramPlan> plan);

/// The run's initial weights: from its file, or drawn from its seed.
void start_weights(const RunConfig& config, Program& program);

}  // namespace ptbench
