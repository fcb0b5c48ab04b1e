#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/site.h"
#include "src/base/function_ref.h"
#include "src/base/size.h"
#include "src/device/device.h"
#include "src/measure/machine_probe.h"
#include "strategies/strategy.h"
#include "workloads/program.h"

namespace ptbench {

/// The devices of replicas 1, 2, … of one process, each with the thread that drives it. Replica 0
/// has the calling thread and the first cores.
class ReplicaDevices final : public ProbePeers {
 public:
  /// Sites as `first` says, which is replica 0's: replica r has the cores from threads · r on,
  /// wrapping round when there are more threads than cores. `replicas` counts replica 0. `devices`:
  /// of each replica; empty: as `first` has it.
  ReplicaDevices(const SiteChoice& first, Size replicas,
                 const std::vector<SiteRow>& catalog = site_catalog(),
                 std::span<const std::string> devices = {});
  ~ReplicaDevices() override;
  ReplicaDevices(const ReplicaDevices&) = delete;
  ReplicaDevices& operator=(const ReplicaDevices&) = delete;

  /// With replica 0.
  [[nodiscard]] Size replicas() const { return static_cast<Size>(driven_.size()) + 1; }

  /// Replicas 1, 2, … of the program that `plan` is of, by its choices, weights still zero. The
  /// devices outlive them. `graph` and `lowering` are those of the plan, whose device has as many
  /// threads as these.
  [[nodiscard]] std::vector<DrivenReplica> build(const Graph& graph, const Lowering& lowering,
                                                 const ProgramPlan& plan);

  /// Calls `job` once on each host thread of all replicas' devices, `first` being replica 0's, and
  /// returns when all have returned. Allocates nothing.
  void run_on_all(Device& first, FunctionRef<void()> job);

  [[nodiscard]] std::vector<int> cpus() const override;
  [[nodiscard]] std::vector<DeviceConditions> look() override;

 private:
  class DrivenSite;
  [[nodiscard]] CoreLatency latency_between();

  std::vector<std::unique_ptr<DrivenSite>> driven_;
  bool shares_cores_;
};

}  // namespace ptbench
