#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "src/comm/solo.h"
#include "src/data/source.h"
#include "strategies/dp.h"
#include "strategies/replica_devices.h"
#include "strategies/strategy_catalog.h"
#include "tests/support/first_plan.h"
#include "workloads/workload_catalog.h"

namespace ptbench::testing {

/// What a test trains and how; the rest is as `ptbench run` does it.
struct TrainingSpec {
  Size micro_batch = 1;
  StepSpec step;
  ElementType type = ElementType::f32;
  std::string strategy = "serial";
  std::string candidate;       ///< used by every operator that has it; others take their first
  Size samples = 0;            ///< 0: three global batches and one over
  Size replicas = 1;           ///< of a strategy with several in one process
  int threads = 1;             ///< of each of them; the backend's device has as many
  int loaders = 0;             ///< threads that prepare batches ahead
  bool wide_data = false;      ///< in f32, on devices with memory of their own too
  std::string device = "cpu";  ///< of replicas beside the first
  std::vector<SiteRow> sites = site_catalog();  ///< that have it

  [[nodiscard]] Size global_batch() const {
    return micro_batch * step.accumulation_steps * replicas;
  }
};

/// The training samples, shuffled by seed 0; `data` outlives it.
inline std::unique_ptr<BatchLoader> batches_of(const DataSource& data, const BatchShape& shape,
                                               LoadingPlan plan = {}) {
  return std::make_unique<BatchLoader>(data.train, Sampler(data.train.size(), shape, true, 0),
                                       std::move(plan));
}

/// A whole training set-up in one place, as `ptbench run` builds it.
class Training {
 public:
  Training(const KernelBackend& backend, const Workload& workload, const TrainingSpec& spec)
      : Training(backend, workload.build(workload.input_shape), spec) {}

  Training(const KernelBackend& backend, const Graph& graph, const TrainingSpec& spec)
      : data_(synthetic_data(
            {.sample_shape = graph.input_shape,
             .classes = graph.classes,
             .samples = spec.samples > 0 ? spec.samples : 3 * spec.global_batch() + 1,
             .seed = 1})),
        communicator_(backend.device().memory()),
        control_(std::make_unique<SoloCommunicator>(host_)) {
    const Lowering lowering{
        .batch = spec.micro_batch,
        .global_batch = spec.global_batch(),
        .type = spec.type,
        .narrow_data = !spec.wide_data && !backend.device().shares_memory_with_host()};
    const LoweredGraph lowered = lower(graph, lowering);
    Choices choices;
    const auto choose = [&](const OperatorSpec& chosen) {
      const auto names = backend.candidates(chosen);
      const bool has = std::ranges::find(names, spec.candidate) != names.end();
      choices[key_of(chosen)] = has ? spec.candidate : names.front();
    };
    for (const LoweredOperator& each : lowered.operators) choose(each.spec);
    choose(gathered_loss(lowered, spec.replicas));
    auto plan = std::make_shared<const ProgramPlan>(graph, lowering, backend, choices);
    StrategyContext context{.communicator = communicator_, .control = control_};
    if (spec.replicas > 1) {
      devices_ = std::make_unique<ReplicaDevices>(
          SiteChoice{
              .device = spec.device, .topology = discover_topology(), .threads = spec.threads},
          spec.replicas, spec.sites);
      context.group.others = devices_->build(graph, lowering, *plan);
    }
    strategy_ = build_over(
        find_strategy(spec.strategy),
        std::make_unique<Replica>(std::move(plan), spec.step, backend.device().memory()),
        batches_of(
            data_,
            {.micro_batch = spec.micro_batch * spec.replicas,
             .accumulation_steps = spec.step.accumulation_steps},
            {.type = lowering.data_type(), .device = &backend.device(), .workers = spec.loaders}),
        std::move(context));
    program().initialise(0);
  }

  [[nodiscard]] Strategy& strategy() { return *strategy_; }
  [[nodiscard]] Program& program() { return strategy_->replica().program(); }
  [[nodiscard]] const DataSource& data() const { return data_; }

  std::vector<float> losses(int steps) {
    std::vector<float> values;
    for (int step = 0; step < steps; ++step) values.push_back(strategy_->step());
    return values;
  }

 private:
  HostMemorySource host_;
  DataSource data_;
  SoloCommunicator communicator_;
  ControlChannel control_;
  std::unique_ptr<ReplicaDevices> devices_;  ///< of replicas 1, 2, …
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace ptbench::testing
