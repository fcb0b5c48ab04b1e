#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_backend.h"
#include "strategies/conductor.h"
#include "strategies/ddp.h"
#include "strategies/verify.h"
#include "tests/strategies/training.h"
#include "tests/support/communicators.h"

namespace ptbench::testing {

/// What several ranks train; `training.strategy` and `training.candidate` do not count.
struct RanksSpec {
  Size world_size = 2;
  StrategyRow row = ddp_strategy();
  TrainingSpec training;
  DdpOptions options = {};
  /// Verification expects rank 0's running statistics on all ranks, whatever `options` say.
  bool promises_statistics = false;

  [[nodiscard]] Size global_batch() const {
    return training.micro_batch * training.step.accumulation_steps * world_size;
  }
  [[nodiscard]] Size samples() const {
    return training.samples > 0 ? training.samples : 3 * global_batch() + 1;
  }
};

inline DataSource data_of(const Graph& graph, const RanksSpec& spec) {
  return synthetic_data({.sample_shape = graph.input_shape,
                         .classes = graph.classes,
                         .samples = spec.samples(),
                         .seed = 1});
}

inline std::shared_ptr<const ProgramPlan> plan_of(const Graph& graph, const RanksSpec& spec,
                                                  const KernelBackend& backend) {
  const Lowering lowering{.batch = spec.training.micro_batch,
                          .global_batch = spec.global_batch(),
                          .type = spec.training.type,
                          .narrow_data = !backend.device().shares_memory_with_host()};
  return first_plan(graph, lowering, backend);
}

/// One rank's training, over anything that outlives it; built by all ranks at once. Each rank draws
/// weights of its own: that all begin with those of rank 0 is for the strategy to see to.
class RankTraining {
 public:
  RankTraining(const Graph& graph, const RanksSpec& spec, const KernelBackend& backend,
               Communicator& communicator, ControlChannel& control)
      : data_(data_of(graph, spec)) {
    auto replica = std::make_unique<Replica>(plan_of(graph, spec, backend), spec.training.step,
                                             communicator.memory());
    LoadingPlan loading{.type = replica->program().await_room().inputs.type(),
                        .device = &backend.device(),
                        .workers = spec.training.loaders};
    strategy_ = build_over(
        spec.row, std::move(replica),
        batches_of(data_,
                   {.micro_batch = spec.training.micro_batch,
                    .accumulation_steps = spec.training.step.accumulation_steps,
                    .replicas = communicator.world_size(),
                    .replica = communicator.rank()},
                   std::move(loading)),
        {.communicator = communicator, .control = control, .data_parallel = spec.options});
    program().initialise(static_cast<std::uint64_t>(communicator.rank()));
  }

  [[nodiscard]] Strategy& strategy() { return *strategy_; }
  [[nodiscard]] Program& program() { return strategy_->replica().program(); }

 private:
  DataSource data_;
  std::unique_ptr<Strategy> strategy_;
};

/// What training left behind.
struct Trained {
  std::vector<float> losses;         ///< by step
  std::vector<float> arena;          ///< parameters as they lie there
  std::vector<float> statistics;     ///< running ones, likewise
  std::vector<NamedTensor> tensors;  ///< parameters without running statistics
  Size skipped = 0;                  ///< steps
};

inline Trained train(Strategy& strategy, int steps) {
  Trained trained;
  for (int step = 0; step < steps; ++step) trained.losses.push_back(strategy.step());
  const Program& program = strategy.replica().program();
  const auto arena = read_back(program.device(), program.parameters());
  trained.arena.assign(arena.values().begin(), arena.values().end());
  const auto statistics = read_back(program.device(), program.running_statistics());
  trained.statistics.assign(statistics.values().begin(), statistics.values().end());
  for (NamedTensor& tensor : program.export_tensors())
    if (tensor.name.find(".running_") == std::string::npos)
      trained.tensors.push_back(std::move(tensor));
  trained.skipped = strategy.replica().scaler().skipped();
  return trained;
}

/// What stands between a rank and its communicator.
using Wrap = std::function<std::unique_ptr<Communicator>(Communicator&)>;

/// Trains on threads, each with a device of its own; by rank.
inline std::vector<Trained> train_ranks(const Graph& graph, const RanksSpec& spec, int steps,
                                        const Wrap& wrap = {}) {
  std::vector<Trained> trained(static_cast<std::size_t>(spec.world_size));
  const Topology topology = discover_topology();
  ThreadGroup(spec.world_size).run([&](SharedMemoryCommunicator& shared) {
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    const std::unique_ptr<Communicator> wrapped = wrap ? wrap(shared) : nullptr;
    ControlChannel control(shared.make_control());
    RankTraining training(graph, spec, backend, wrapped ? *wrapped : shared, control);
    trained[static_cast<std::size_t>(shared.rank())] = train(training.strategy(), steps);
  });
  return trained;
}

/// One serial replica that runs the ranks' micro-batches in turn, under the same plan.
inline RanksSpec in_turn(const RanksSpec& spec) {
  RanksSpec serial = spec;
  serial.world_size = 1;
  serial.row = find_strategy("serial");
  serial.training.step.accumulation_steps *= spec.world_size;
  serial.training.samples = spec.samples();
  return serial;
}

/// The oracle.
inline Trained train_oracle(const Graph& graph, const RanksSpec& spec, int steps) {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  HostMemorySource memory;
  SoloCommunicator alone(memory);
  ControlChannel control(std::make_unique<SoloCommunicator>(memory));
  RankTraining training(graph, in_turn(spec), backend, alone, control);
  return train(training.strategy(), steps);
}

/// What spoils a rank's training before it begins.
using Spoil = std::function<void(Strategy&, Size rank)>;

/// The ranks as `ptbench run --verify only` compares them with the oracle, which rank 0 trains.
inline VerificationRecord verify_ranks(const Graph& graph, const RanksSpec& spec,
                                       const Wrap& wrap = {}, const Spoil& spoil = {}) {
  VerificationRecord record;
  const Topology topology = discover_topology();
  ThreadGroup(spec.world_size).run([&](SharedMemoryCommunicator& shared) {
    CpuDevice device(topology, 1, static_cast<int>(shared.rank()));
    const CpuBackend backend(device);
    ControlChannel control(shared.make_control());
    Conductor conductor(control, spec.options.timeout);
    const std::unique_ptr<Communicator> wrapped = wrap ? wrap(shared) : nullptr;
    RankTraining training(graph, spec, backend, wrapped ? *wrapped : shared, control);
    Strategy& tested = training.strategy();
    if (spoil) spoil(tested, shared.rank());
    VerifiedRanks ranks(tested, control, conductor, spec.options.timeout,
                        spec.options.broadcast_buffers || spec.promises_statistics);
    if (conductor.leads()) {
      HostMemorySource memory;
      SoloCommunicator alone(memory);
      ControlChannel alone_control(std::make_unique<SoloCommunicator>(memory));
      RankTraining oracle(graph, in_turn(spec), backend, alone, alone_control);
      oracle.strategy().replica().follow_statistics_every(spec.world_size);
      conductor.lead(tested);
      ComparedSteps steps;
      record =
          verify(tested, oracle.strategy(), ranks, {}, [] { return true; }, SteadyClock(), steps);
      conductor.stop();
    } else {
      conductor.follow(tested, {.look = [&] { ranks.follow(); }});
    }
  });
  return record;
}

/// How far two trainings are apart.
struct Apart {
  double loss = 0;        ///< largest |Δloss| / max(1, |loss|)
  double parameters = 0;  ///< ‖Δp‖ / ‖p‖ of the worst tensor
};

inline double relative_difference(std::span<const float> tested, std::span<const float> oracle) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    const auto expected = static_cast<double>(oracle[i]);
    difference += std::pow(static_cast<double>(tested[i]) - expected, 2);
    norm += std::pow(expected, 2);
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

inline Apart distance(const Trained& tested, const Trained& oracle) {
  Apart apart;
  for (std::size_t step = 0; step < oracle.losses.size(); ++step) {
    const auto expected = static_cast<double>(oracle.losses[step]);
    const double error = std::abs(static_cast<double>(tested.losses.at(step)) - expected);
    apart.loss = std::max(apart.loss, error / std::max(1.0, std::abs(expected)));
  }
  for (std::size_t i = 0; i < oracle.tensors.size(); ++i)
    apart.parameters = std::max(apart.parameters, relative_difference(tested.tensors.at(i).values,
                                                                      oracle.tensors[i].values));
  return apart;
}

}  // namespace ptbench::testing
