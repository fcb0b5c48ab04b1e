#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "src/comm/solo.h"
#include "src/data/source.h"
#include "strategies/catalog.h"
#include "workloads/catalog.h"

namespace ptbench::testing {

/// A whole training set-up in one place, as `ptbench run` builds it.
class Training {
 public:
  /// `candidate`: used by every operator that has it; others take their first.
  Training(const KernelBackend& backend, const Workload& workload, Size batch,
           const OptimizerSpec& optimizer, const std::string& strategy = "serial",
           const std::string& candidate = {})
      : data_(synthetic_data({.sample_shape = workload.input_shape,
                              .classes = workload.classes,
                              .samples = 3 * batch + 1,
                              .seed = 1})),
        communicator_(memory_) {
    const Graph graph = workload.build(workload.input_shape);
    Choices choices;
    for (const LoweredOperator& lowered : lower(graph, batch, batch)) {
      const auto names = backend.candidates(lowered.spec);
      const bool has = std::ranges::find(names, candidate) != names.end();
      choices[key_of(lowered.spec)] = has ? candidate : names.front();
    }
    auto plan = std::make_shared<const ProgramPlan>(graph, batch, batch, backend, choices);
    auto replica = std::make_unique<Replica>(plan, backend, optimizer, memory_, memory_);
    Program& program = replica->program();
    program.initialise(0);
    replica->attach(std::make_unique<BatchLoader>(
        data_.train, Sampler(data_.train.size(), {.micro_batch = batch}, true, 0), program.input(),
        program.labels()));
    StrategyContext context{.replicas = {}, .communicator = communicator_};
    context.replicas.push_back(std::move(replica));
    strategy_ = find_strategy(strategy).build(std::move(context));
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
  HostMemorySource memory_;
  DataSource data_;
  SoloCommunicator communicator_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace ptbench::testing
