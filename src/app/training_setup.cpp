#include "src/app/training_setup.h"

#include <utility>
#include <vector>

#include "strategies/serial.h"

namespace ptbench {

std::vector<OperatorSpec> operators_of(const Graph& graph, const TrainingShape& shape) {
  std::vector<OperatorSpec> specs;
  for (const LoweredOperator& lowered : lower(graph, shape.lowering()).operators)
    specs.push_back(lowered.spec);
  return specs;
}

Sampler sampler_of(const TrainingGround& ground, const TrainingShape& shape) {
  return {ground.data.size(),
          {.micro_batch = shape.micro_batch,
           .accumulation_steps = shape.step.accumulation_steps,
           .replicas = shape.ranks,
           .replica = shape.rank},
          ground.config.options.shuffle,
          ground.config.options.seed};
}

namespace {

std::unique_ptr<Strategy> build(const TrainingGround& ground, const TrainingShape& shape,
                                std::shared_ptr<const ProgramPlan> plan,
                                const StrategyRow& strategy, Communicator& communicator) {
  auto replica = std::make_unique<Replica>(std::move(plan), shape.step, communicator.memory(),
                                           ground.device.memory());
  Program& program = replica->program();
  replica->attach(std::make_unique<BatchLoader>(
      ground.data, sampler_of(ground, shape), program.input(), program.labels(),
      &ground.device.team(), static_cast<int>(ground.config.options.data_workers)));
  StrategyContext context{
      .replicas = {}, .communicator = communicator, .data_parallel = ground.data_parallel};
  context.replicas.push_back(std::move(replica));
  return strategy.build(std::move(context));
}

}  // namespace

std::unique_ptr<Strategy> build_training(const TrainingGround& ground, const TrainingShape& shape,
                                         std::shared_ptr<const ProgramPlan> plan) {
  return build(ground, shape, std::move(plan), ground.config.strategy, ground.communicator);
}

std::unique_ptr<Strategy> build_serial(const TrainingGround& ground, const TrainingShape& shape,
                                       std::shared_ptr<const ProgramPlan> plan) {
  return build(ground, shape, std::move(plan), serial_strategy(), ground.alone);
}

void start_weights(const RunConfig& config, Program& program) {
  if (!config.options.initial_weights) {
    program.initialise(config.options.seed);
    return;
  }
  const std::string& path = *config.options.initial_weights;
  const std::vector<NamedTensor> tensors = read_weights(path);
  std::vector<NamedTensor> ordered;
  for (const NamedTensor* tensor : match_weights(tensors, program.plan().tensors(), path))
    ordered.push_back(*tensor);
  program.import_tensors(ordered);
}

}  // namespace ptbench
