#include "app/training/training_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "app/config/memory_limit.h"
#include "src/base/error.h"
#include "src/data/source.h"
#include "strategies/dp.h"
#include "strategies/serial.h"
#include "workloads/layout_digest.h"

namespace ptbench {

std::vector<OperatorSpec> operators_of(const Graph& graph, const TrainingShape& shape) {
  std::vector<OperatorSpec> specs;
  const LoweredGraph lowered_graph = lower(graph, shape.lowering());
  for (const LoweredOperator& lowered : lowered_graph.operators) specs.push_back(lowered.spec);
  if (shape.one_process && shape.batch.replicas > 1)
    specs.emplace_back(gathered_loss(lowered_graph, shape.batch.replicas));
  return specs;
}

TrainingShape shape_of(const RunConfig& config, Size rank) {
  return {.batch = config.batch.of_replica(rank),
          .type = config.type,
          .optimizer = config.optimizer,
          .loss_scale = config.loss_scale,
          .keeps_gradients = !config.lets_gradients_pass(rank),
          .one_process = config.strategy.one_process,
          .narrow_data = !config.device.is_cpu()};
}

std::vector<TrainingShape> shapes_of_ranks(const TrainingShape& shape) {
  std::vector<TrainingShape> shapes(1, shape);
  const auto micro_batch = [](const TrainingShape& one) { return one.batch.micro_batch; };
  for (Size rank = 0; rank < std::ssize(shape.batch.shares); ++rank) {
    TrainingShape other = shape;
    other.batch = shape.batch.of_replica(rank);
    if (std::ranges::find(shapes, other.batch.micro_batch, micro_batch) == shapes.end())
      shapes.push_back(std::move(other));
  }
  std::ranges::sort(shapes, std::greater(), micro_batch);
  return shapes;
}

namespace {

/// A candidate for `spec` that keeps parameters as `layout` says; `wishes` are tried first. Empty
/// where there is none.
std::optional<std::string> candidate_with_layout(const KernelBackend& backend,
                                                 const OperatorSpec& spec, std::uint64_t layout,
                                                 const std::vector<std::string>& wishes) {
  const auto fits = [&](const std::string& candidate) {
    return layout_digest(spec, *backend.plan(spec, candidate)) == layout;
  };
  for (const std::string& wish : wishes)
    if (backend.has_candidate(spec, wish) && fits(wish)) return wish;
  const std::vector<std::string> all = backend.candidates(spec);
  const auto found = std::ranges::find_if(all, fits);
  return found != all.end() ? std::optional(*found) : std::nullopt;
}

/// Has the operator of each share, the largest first, keep parameters in one layout: that of the
/// largest one's choice, or where a smaller share has no kernel for it, of another of its kernels.
void agree_on_layout(const KernelBackend& backend, const std::vector<OperatorSpec>& shares,
                     Choices& choices) {
  const OperatorSpec& largest = shares.front();
  const auto agree = [&](const std::string& way) {
    const std::uint64_t layout = layout_digest(largest, *backend.plan(largest, way));
    Choices agreed = choices;
    agreed[key_of(largest)] = way;
    const bool all_agree =
        std::ranges::all_of(shares.begin() + 1, shares.end(), [&](const OperatorSpec& spec) {
          std::vector<std::string> wishes{way};
          if (const auto known = choices.find(key_of(spec)); known != choices.end())
            wishes.insert(wishes.begin(), known->second);
          const auto found = candidate_with_layout(backend, spec, layout, wishes);
          if (found) agreed[key_of(spec)] = *found;
          return found.has_value();
        });
    if (all_agree) choices = std::move(agreed);
    return all_agree;
  };
  // The others are looked at only where the choice does not do.
  if (agree(choices.at(key_of(largest))) || std::ranges::any_of(backend.candidates(largest), agree))
    return;
  throw run_error(fmt::format("the kernels for '{}' have no parameter layout in common for all "
                              "shares",
                              key_of(largest)),
                  "choose other --shares");
}

}  // namespace

Choices with_one_layout(const TrainingContext& context, const TrainingShape& shape,
                        Choices choices) {
  std::vector<std::vector<OperatorSpec>> shares;  // by operator
  for (const TrainingShape& one : shapes_of_ranks(shape)) {
    const std::vector<OperatorSpec> specs = operators_of(context.graph, one);
    shares.resize(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) shares[i].push_back(specs[i]);
  }
  for (const std::vector<OperatorSpec>& of_operator : shares)
    if (of_operator.size() > 1) agree_on_layout(context.backend(), of_operator, choices);
  return choices;
}

Sampler sampler_of(const TrainingContext& context, const TrainingShape& shape) {
  BatchShape batch = shape.batch;
  if (shape.one_process) {
    batch.micro_batch *= std::exchange(batch.replicas, 1);
    batch.replica = 0;
  }
  Sampler sampler(context.data.size(), batch, context.config.options.shuffle,
                  context.config.options.seed);
  for (Size skipped = shape.first_step * batch.accumulation_steps; skipped > 0; --skipped)
    sampler.skip();
  return sampler;
}

int gather_threads(const RunConfig& config, const Device& device) {
  constexpr Size kMost = 8;
  if (device.shares_memory_with_host()) return 1;
  const Size cores = config.threads * (config.strategy.one_process ? config.options.nproc : 1);
  return static_cast<int>(std::clamp(cores, Size{1}, kMost));
}

namespace {

/// Of samples of that shape.
std::unique_ptr<BatchLoader> loader_of(const TrainingContext& context, const TrainingShape& shape) {
  return std::make_unique<BatchLoader>(
      context.data, sampler_of(context, shape),
      LoadingPlan{.type = shape.lowering().data_type(),
                  .device = &context.device(),
                  .gather_threads = gather_threads(context.config, context.device()),
                  .workers = static_cast<int>(context.config.options.data_workers)});
}

std::unique_ptr<Strategy> build(const TrainingContext& context, const TrainingShape& shape,
                                std::shared_ptr<const ProgramPlan> plan,
                                const StrategyRow& strategy, Communicator& communicator,
                                ControlChannel& control) {
  return build_over(
      strategy, std::make_unique<Replica>(std::move(plan), shape.step(), communicator.memory()),
      loader_of(context, shape),
      {.communicator = communicator, .control = control, .data_parallel = context.data_parallel});
}

/// Of what `replica` computes on `device`; empty where nothing slows it down.
ComputeObserver imbalance_of(const TrainingContext& context, Size replica, Device& device) {
  const double share = context.config.slowdown_of(replica) - 1;
  return dragging(Drag(share, context.clock, threads_of(device)), device);
}

/// Replica 0 on the context's device, which has the data of all, and the others on theirs.
std::unique_ptr<Strategy> build_in_one_process(const TrainingContext& context,
                                               const TrainingShape& shape,
                                               const std::shared_ptr<const ProgramPlan>& plan) {
  ReplicaDevices* devices = context.replica_devices;
  ensure(shape.batch.shares.empty() &&
             shape.batch.replicas == (devices == nullptr ? 1 : devices->replicas()),
         "every replica has a device and an equal share");
  ReplicaGroup group{.observer = imbalance_of(context, 0, context.device())};
  if (devices != nullptr) group.others = devices->build(context.graph, shape.lowering(), *plan);
  for (std::size_t i = 0; i < group.others.size(); ++i)
    group.others[i].observer =
        imbalance_of(context, static_cast<Size>(i) + 1, group.others[i].program->device());
  return build_over(context.config.strategy,
                    std::make_unique<Replica>(plan, shape.step(), context.device().memory()),
                    loader_of(context, shape),
                    {.communicator = context.alone,
                     .control = context.alone_control,
                     .data_parallel = context.data_parallel,
                     .group = std::move(group)});
}

}  // namespace

std::unique_ptr<Strategy> build_training(const TrainingContext& context, const TrainingShape& shape,
                                         std::shared_ptr<const ProgramPlan> plan) {
  auto strategy = shape.one_process
                      ? build_in_one_process(context, shape, plan)
                      : build(context, shape, std::move(plan), context.config.strategy,
                              context.communicator, context.control);
  if (ComputeObserver observer = imbalance_of(context, shape.batch.replica, context.device()))
    strategy->replica().observe_computing(std::move(observer));
  return strategy;
}

std::unique_ptr<Strategy> build_serial(const TrainingContext& context, const TrainingShape& shape,
                                       std::shared_ptr<const ProgramPlan> plan) {
  return build(context, shape, std::move(plan), serial_strategy(), context.alone,
               context.alone_control);
}

Drag step_drag(const TrainingContext& context) {
  const double share = context.config.options.slowdown;
  Device* const first = &context.device();
  ReplicaDevices* const others = context.replica_devices;
  if (others == nullptr) return {share, context.clock, threads_of(*first)};
  return {share, context.clock,
          [others, first](FunctionRef<void()> job) { others->run_on_all(*first, job); }};
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

DataSource load_data(const RunConfig& config) {
  const Workload& workload = config.workload;
  const bool synthetic = config.synthetic_samples > 0;
  if (synthetic) require_memory(config, workload.build(workload.input_shape));
  DataSource data = synthetic ? synthetic_data({.sample_shape = workload.input_shape,
                                                .classes = workload.classes,
                                                .samples = config.synthetic_samples,
                                                .seed = config.options.seed})
                              : load_directory(config.options.data);
  check_labels(data, workload.classes);
  if (!synthetic) {
    const Shape& shape = data.train.sample_shape();
    refuse_channels_last(config.options.data, shape, workload.input_shape);
    require_memory(config, workload.build(shape));
  }
  return data;
}

}  // namespace ptbench
