#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "src/device/activity.h"
#include "src/device/cpu_load.h"
#include "src/device/device.h"
#include "src/device/energy.h"
#include "src/device/frequency.h"
#include "src/measure/slice_probe.h"

namespace ptbench {

/// The devices of the other ranks or replicas, which train in step with this one.
class ProbePeers {
 public:
  virtual ~ProbePeers() = default;
  /// On which CPUs they compute.
  [[nodiscard]] virtual std::vector<int> cpus() const = 0;
  /// Lets each of them look, and measures the latency between the first cores of all ranks.
  /// Returns one entry a device, and that latency in the first entry.
  [[nodiscard]] virtual std::vector<DeviceConditions> look() = 0;
};

/// Looks at the cores that compute a step, with the threads that do: latency between cores, their
/// frequency, and who else uses them; at what devices tell of themselves; and at the energy of the
/// CPU packages. Takes about 1 ms at either end of a slice, which counts neither as load nor as
/// energy of the packages.
class MachineProbe final : public SliceProbe {
 public:
  /// `device` and `peers`, null where this device computes alone, outlive the probe; whoever made
  /// the device calls `begin` and `end`, between jobs.
  explicit MachineProbe(Device& device, ProbePeers* peers = nullptr,
                        EnergyMeter energy = EnergyMeter());
  /// Tools that profile the device are told at the first slice's begin and now.
  ~MachineProbe() override;
  MachineProbe(const MachineProbe&) = delete;
  MachineProbe& operator=(const MachineProbe&) = delete;

  void begin() override;
  void glance() override;
  [[nodiscard]] SliceConditions end() override;

 private:
  void begin_profile();
  /// The conditions of all devices together.
  [[nodiscard]] DeviceConditions look();
  /// Of cores the mean of the glances; of what accelerators tell, that of both ends.
  [[nodiscard]] std::optional<double> mean_frequency(const DeviceConditions& end);

  Device& device_;
  ProbePeers* peers_;
  bool has_begun_ = false;                       ///< the first slice has
  const ActivityInterface* activity_ = nullptr;  ///< then; null where the device's engine has none
  EnergyMeter energy_;
  CpuLoad load_;
  DeviceConditions begin_;
  std::chrono::steady_clock::time_point next_glance_;
  ClockGlances glances_;
  std::optional<CpuTimes> times_begin_;
};

}  // namespace ptbench
