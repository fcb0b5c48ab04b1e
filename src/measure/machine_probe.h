#pragma once

#include <optional>
#include <vector>

#include "src/device/core_latency.h"
#include "src/device/cpu_load.h"
#include "src/device/team.h"
#include "src/measure/slice_probe.h"

namespace ptbench {

/// What a team sees of its own cores. Plain data, so that processes can send it.
struct TeamConditions {
  bool has_latency = false;  ///< there are two cores to measure it between
  CoreLatency latency = {};
  double frequency_hertz = 0;  ///< of the slowest core
  double cpu_seconds = 0;      ///< that the team's process has used, on whatever CPU
};

/// Asked of a team between its jobs, by its maker. Takes about 1 ms.
[[nodiscard]] TeamConditions look_at(Team& team);

/// The teams of the other ranks, which train in step with this one.
class ProbePeers {
 public:
  virtual ~ProbePeers() = default;
  /// On which CPUs they compute.
  [[nodiscard]] virtual std::vector<int> cpus() const = 0;
  /// Lets each of them look, and measures the latency between the first cores of all ranks.
  /// Returns one entry a team, and that latency in the first entry.
  [[nodiscard]] virtual std::vector<TeamConditions> look() = 0;
};

/// Looks at the cores that compute a step, with the threads that do: latency between cores, their
/// frequency, and who else uses them. Takes about 1 ms at either end of a slice, which does not
/// count as load.
class MachineProbe final : public SliceProbe {
 public:
  /// `team` and `peers`, null where this team computes alone, outlive the probe; whoever made the
  /// team calls `begin` and `end`, between jobs.
  explicit MachineProbe(Team& team, ProbePeers* peers = nullptr);

  void begin() override;
  [[nodiscard]] SliceConditions end() override;

 private:
  /// The conditions of all teams together.
  [[nodiscard]] TeamConditions look();

  Team& team_;
  ProbePeers* peers_;
  CpuLoad load_;
  GatheredLoad gathered_;  ///< over slices
  TeamConditions begin_;
  std::optional<CpuTimes> times_begin_;
};

}  // namespace ptbench
