#pragma once

#include <vector>

#include "src/comm/control_channel.h"
#include "src/comm/shared_region.h"
#include "src/device/core_latency.h"
#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/measure/machine_probe.h"
#include "strategies/conductor.h"

namespace ptbench {

/// One rank's side of looking at the cores of all ranks of a host.
class RankProbe final : public ProbePeers {
 public:
  /// All ranks make one, at the same time. Everything outlives it.
  RankProbe(const SharedRegion& region, ControlChannel& control, Conductor& conductor,
            Device& device, Communicator::Timeout timeout);

  /// On rank 0.
  [[nodiscard]] std::vector<int> cpus() const override { return cpus_; }
  [[nodiscard]] std::vector<DeviceConditions> look() override;
  /// On the others, when rank 0 looks.
  void contribute();

 private:
  void measure_latency();
  void share_ring(const SharedRegion& region);

  ControlChannel& control_;
  Conductor& conductor_;
  Device& device_;
  Communicator::Timeout timeout_;
  std::vector<int> cpus_;  ///< of all ranks, in their order
  std::vector<Size>
      ring_;            ///< ranks that are alone on their first CPU, or the first of those on it
  Buffer ring_memory_;  ///< rank 0's, for all
  LatencyRing* latency_ring_ = nullptr;
};

}  // namespace ptbench
