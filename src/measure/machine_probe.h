#pragma once

#include <optional>
#include <vector>

#include "src/device/core_latency.h"
#include "src/device/cpu_load.h"
#include "src/device/team.h"
#include "src/measure/slice_probe.h"

namespace ptbench {

/// Looks at the cores of a team, with its own threads: latency between cores, their frequency, and
/// who else uses them. Takes about 1 ms at either end of a slice, which do not count as load.
class MachineProbe final : public SliceProbe {
 public:
  /// `team` outlives the probe; whoever made it calls `begin` and `end`, between jobs.
  explicit MachineProbe(Team& team);

  void begin() override;
  [[nodiscard]] SliceConditions end() override;

 private:
  /// Of the slowest core.
  double frequency();

  Team& team_;
  CpuLoad load_;
  std::vector<double> frequencies_;  ///< of the members
  std::optional<CoreLatency> latency_begin_;
  double frequency_begin_ = 0;
};

}  // namespace ptbench
