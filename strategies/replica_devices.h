#pragma once

#include <memory>
#include <vector>

#include "src/base/function_ref.h"
#include "src/base/size.h"
#include "src/device/topology.h"
#include "src/measure/machine_probe.h"
#include "strategies/strategy.h"
#include "workloads/program.h"

namespace ptbench {

/// The devices of replicas 1, 2, … of one process, each with the thread that drives it. Replica 0
/// has the calling thread and the first cores.
class ReplicaDevices final : public ProbePeers {
 public:
  /// `threads` each; replica r has the cores from threads · r on, wrapping round when there are
  /// more threads than cores. `replicas` counts replica 0.
  ReplicaDevices(const Topology& topology, int threads, Size replicas);
  ~ReplicaDevices() override;
  ReplicaDevices(const ReplicaDevices&) = delete;
  ReplicaDevices& operator=(const ReplicaDevices&) = delete;

  /// With replica 0.
  [[nodiscard]] Size replicas() const { return static_cast<Size>(seats_.size()) + 1; }

  /// Replicas 1, 2, … of the program that `plan` is of, by its choices, weights still zero. The
  /// devices outlive them. `graph` and `lowering` are those of the plan, whose device has as many
  /// threads as these.
  [[nodiscard]] std::vector<DrivenReplica> build(const Graph& graph, const Lowering& lowering,
                                                 const ProgramPlan& plan);

  /// Calls `job` once on each member of all replicas' teams, `first` being replica 0's, and returns
  /// when all have returned. Allocates nothing.
  void run_on_all(Team& first, FunctionRef<void()> job);

  [[nodiscard]] std::vector<int> cpus() const override;
  [[nodiscard]] std::vector<TeamConditions> look() override;

 private:
  class Seat;
  [[nodiscard]] CoreLatency latency_between();

  std::vector<std::unique_ptr<Seat>> seats_;
  bool shares_cores_;
};

}  // namespace ptbench
