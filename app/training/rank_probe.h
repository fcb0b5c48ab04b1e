#pragma once

#include <vector>

#include "src/comm/control_channel.h"
#include "src/comm/ranks_apart.h"
#include "src/comm/shm/shared_region.h"
#include "src/device/core_latency.h"
#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/measure/machine_probe.h"
#include "strategies/conductor.h"

namespace ptbench {

/// One rank's side of looking at the cores of all ranks. How far cores are from each other is
/// looked at on one host alone.
class RankProbe final : public ProbePeers {
 public:
  /// Who they are; what it names outlives the probe.
  struct Ranks {
    const SharedRegion& region;
    const RanksApart* apart = nullptr;  ///< on several hosts, which share no core; null: on one
  };

  /// All ranks make one, at the same time. Everything outlives it.
  RankProbe(const Ranks& all, ControlChannel& control, Conductor& conductor, Device& device,
            Communicator::Timeout timeout);

  /// On rank 0.
  [[nodiscard]] std::vector<int> cpus() const override { return cpus_; }
  [[nodiscard]] std::vector<DeviceConditions> look() override;
  /// On the others, when rank 0 looks.
  void contribute();

 private:
  void measure_latency();
  void share_ring(const SharedRegion& region);
  void keep_cpus_beside_rank_zero(const RanksApart& apart, std::size_t threads);

  ControlChannel& control_;
  Conductor& conductor_;
  Device& device_;
  Communicator::Timeout timeout_;
  std::vector<int> cpus_;  ///< of all ranks on rank 0's host, in their order
  std::vector<Size>
      ring_;            ///< ranks that are alone on their first CPU, or the first of those on it
  Buffer ring_memory_;  ///< rank 0's, for all
  LatencyRing* latency_ring_ = nullptr;
};

}  // namespace ptbench
