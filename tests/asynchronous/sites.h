#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/solo.h"
#include "src/device/host_mirror.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/ranks.h"
#include "tests/strategies/training.h"
#include "tests/support/communicators.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/deferred_communicator.h"
#include "tests/support/deferred_device.h"
#include "tests/support/operator_harness.h"

// The same trainings on the CPU, which works at once, and on a device that works later.
namespace ptbench::testing {

/// A training of one process on a deferred device, and on others for further replicas.
class DeferredTraining {
 public:
  DeferredTraining(const Graph& graph, TrainingSpec spec, Eagerness eagerness) : world_(eagerness) {
    spec.device = "deferred";
    spec.sites = {deferred_site(world_)};
    site_ =
        open_site({.device = "deferred", .topology = discover_topology(), .threads = spec.threads},
                  spec.sites);
    training_.emplace(*site_.backend, graph, spec);
  }
  ~DeferredTraining() { world_.plant(Fault::none); }
  DeferredTraining(const DeferredTraining&) = delete;
  DeferredTraining& operator=(const DeferredTraining&) = delete;

  [[nodiscard]] DeferredWorld& world() { return world_; }
  [[nodiscard]] Training& training() { return *training_; }
  [[nodiscard]] Strategy& strategy() { return training_->strategy(); }
  [[nodiscard]] const KernelBackend& backend() const { return *site_.backend; }

 private:
  DeferredWorld world_;
  Site site_;
  std::optional<Training> training_;
};

/// The same on the CPU.
class ImmediateTraining {
 public:
  ImmediateTraining(const Graph& graph, const TrainingSpec& spec)
      : site_(open_site({.topology = discover_topology(), .threads = spec.threads})),
        training_(*site_.backend, graph, spec) {}

  [[nodiscard]] Training& training() { return training_; }
  [[nodiscard]] Strategy& strategy() { return training_.strategy(); }

 private:
  Site site_;
  Training training_;
};

/// What one rank of a world has, on a device that works later.
struct DeferredRank {
  DeferredWorld& world;
  const KernelBackend& backend;
  Communicator& communicator;
  ControlChannel& control;
};

/// Calls `body` on every rank's thread, each with a device of its own. Host messages have a region
/// of their own, since a rank's operations are those of the device's thread. One rank is a world of
/// one, as in the program.
inline void run_deferred_ranks(Size world_size, Eagerness eagerness,
                               const std::function<void(const DeferredRank&)>& body) {
  const Topology topology = discover_topology();
  const ThreadGroup messages(world_size);
  ThreadGroup(world_size).run([&](SharedMemoryCommunicator& shared) {
    DeferredWorld world(eagerness);
    SharedMemoryCommunicator of_host(messages.region(), shared.rank());
    ControlChannel control(of_host.make_control());
    DeferredDevice device(
        world, {.topology = topology, .threads = 1, .first_core = static_cast<int>(shared.rank())});
    const DeferredBackend backend(device);
    SoloCommunicator alone(device.memory());
    DeferredCommunicator together(device, shared);
    Communicator& communicator = world_size == 1 ? static_cast<Communicator&>(alone) : together;
    body({.world = world, .backend = backend, .communicator = communicator, .control = control});
  });
}

inline std::vector<Trained> train_deferred_ranks(const Graph& graph, const RanksSpec& spec,
                                                 int steps, Eagerness eagerness,
                                                 Fault fault = Fault::none,
                                                 const std::string& operation = {}) {
  std::vector<Trained> trained(static_cast<std::size_t>(spec.world_size));
  run_deferred_ranks(spec.world_size, eagerness, [&](const DeferredRank& rank) {
    RankTraining training(graph, spec, rank.backend, rank.communicator, rank.control);
    Strategy& strategy = training.strategy();
    std::vector<float> losses;
    rank.world.plant(fault, operation);
    for (int step = 0; step < steps; ++step) losses.push_back(strategy.step());
    for (int step = 0; step < steps; ++step) strategy.start_step();
    losses.push_back(strategy.finish_step());
    rank.world.plant(Fault::none);
    Trained& result = trained[static_cast<std::size_t>(rank.control.rank())];
    result = train(strategy, 0);
    result.losses = std::move(losses);
  });
  return trained;
}

/// What `steps` steps on CPUs give whose losses are read, and as many of which only the last one's
/// is, as on late devices above.
inline std::vector<Trained> train_ranks_on_cpus(const Graph& graph, const RanksSpec& spec,
                                                int steps) {
  std::vector<Trained> trained = train_ranks(graph, spec, 2 * steps);
  for (Trained& rank : trained)
    rank.losses.erase(rank.losses.begin() + steps, rank.losses.end() - 1);
  return trained;
}

[[nodiscard]] inline bool same(const Trained& a, const Trained& b) {
  return same_bits(a.losses, b.losses) && same_bits(a.arena, b.arena) &&
         same_bits(a.statistics, b.statistics);
}

}  // namespace ptbench::testing
