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

/// What a test trains and how; the rest is as `ptbench run` does it.
struct TrainingSpec {
  Size micro_batch = 1;
  StepSpec step;
  ElementType type = ElementType::f32;
  std::string strategy = "serial";
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ calls it forgotten otherwise
  std::string candidate = {};  ///< used by every operator that has it; others take their first
  Size samples = 0;            ///< 0: three global batches and one over
};

/// A whole training set-up in one place, as `ptbench run` builds it.
class Training {
 public:
  Training(const KernelBackend& backend, const Workload& workload, const TrainingSpec& spec)
      : Training(backend, workload.build(workload.input_shape), spec) {}

  Training(const KernelBackend& backend, const Graph& graph, const TrainingSpec& spec)
      : data_(synthetic_data({.sample_shape = graph.input_shape,
                              .classes = graph.classes,
                              .samples = spec.samples > 0 ? spec.samples : 3 * global(spec) + 1,
                              .seed = 1})),
        communicator_(memory_) {
    const Lowering lowering{
        .batch = spec.micro_batch, .global_batch = global(spec), .type = spec.type};
    Choices choices;
    for (const LoweredOperator& lowered : lower(graph, lowering).operators) {
      const auto names = backend.candidates(lowered.spec);
      const bool has = std::ranges::find(names, spec.candidate) != names.end();
      choices[key_of(lowered.spec)] = has ? spec.candidate : names.front();
    }
    auto plan = std::make_shared<const ProgramPlan>(graph, lowering, backend, choices);
    auto replica = std::make_unique<Replica>(plan, spec.step, memory_, memory_);
    Program& program = replica->program();
    program.initialise(0);
    replica->attach(std::make_unique<BatchLoader>(
        data_.train,
        Sampler(
            data_.train.size(),
            {.micro_batch = spec.micro_batch, .accumulation_steps = spec.step.accumulation_steps},
            true, 0),
        program.input(), program.labels()));
    StrategyContext context{.replicas = {}, .communicator = communicator_};
    context.replicas.push_back(std::move(replica));
    strategy_ = find_strategy(spec.strategy).build(std::move(context));
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
  static Size global(const TrainingSpec& spec) {
    return spec.micro_batch * spec.step.accumulation_steps;
  }

  HostMemorySource memory_;
  DataSource data_;
  SoloCommunicator communicator_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace ptbench::testing
