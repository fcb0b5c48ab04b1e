#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "src/comm/solo.h"
#include "src/data/source.h"
#include "strategies/catalog.h"
#include "strategies/dp.h"
#include "strategies/replica_devices.h"
#include "workloads/catalog.h"

namespace ptbench::testing {

/// What a test trains and how; the rest is as `ptbench run` does it.
struct TrainingSpec {
  Size micro_batch = 1;
  StepSpec step;
  ElementType type = ElementType::f32;
  std::string strategy = "serial";
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ calls it forgotten otherwise
  std::string candidate = {};  ///< used by every operator that has it; others take their first
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
    auto replica = std::make_unique<Replica>(plan, spec.step, backend.device().memory());
    replica->program().initialise(0);
    auto loader = std::make_unique<BatchLoader>(
        data_.train,
        Sampler(data_.train.size(),
                {.micro_batch = spec.micro_batch * spec.replicas,
                 .accumulation_steps = spec.step.accumulation_steps},
                true, 0),
        LoadingPlan{
            .type = lowering.data_type(), .device = &backend.device(), .workers = spec.loaders});
    const StrategyRow row = find_strategy(spec.strategy);
    StrategyContext context{.replicas = {}, .communicator = communicator_, .control = control_};
    if (row.one_process)
      context.group.loader = std::move(loader);
    else
      replica->attach(std::move(loader));
    context.replicas.push_back(std::move(replica));
    if (spec.replicas > 1) {
      devices_ = std::make_unique<ReplicaDevices>(
          SiteChoice{
              .device = spec.device, .topology = discover_topology(), .threads = spec.threads},
          spec.replicas, spec.sites);
      context.group.others = devices_->build(graph, lowering, *plan);
    }
    strategy_ = row.build(std::move(context));
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
