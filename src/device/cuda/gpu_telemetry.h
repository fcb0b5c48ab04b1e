#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/device/cuda/nvml.h"
#include "src/device/device.h"

namespace ptbench {

/// What the driver's management library tells of one GPU: clock, temperature, why clocks are low,
/// other processes, energy. What it does not tell is empty. Of a part of a GPU (MIG) it tells what
/// the whole GPU does. For one thread.
class GpuTelemetry {
 public:
  /// `index` as CUDA counts devices. The library is asked by PCI bus id, since it counts all
  /// devices, whatever CUDA_VISIBLE_DEVICES leaves of them and in whichever order. Opening it takes
  /// some tens of milliseconds. Never throws for a library or device that cannot be asked.
  explicit GpuTelemetry(int index);

  /// Some calls of 10 µs to 1 ms each. Allocates only where there are more processes than before,
  /// or something is not told.
  [[nodiscard]] AcceleratorConditions look();
  /// Of the multiprocessors, just now.
  [[nodiscard]] std::optional<double> clock_hertz() const;

  /// Why it is not known whether the GPU is throttled; empty where it is.
  [[nodiscard]] const std::optional<WatchGap>& throttling_gap() const { return gap_; }
  /// What else is not told, with reasons: "energy (Not Supported)".
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }
  [[nodiscard]] const Nvml& library() const { return nvml_; }

 private:
  /// Whether a function succeeded; where it did not, `what` is among what is missing.
  bool told(NvmlResult result, std::string_view what);
  void find_device(int index);
  void find_missing();
  [[nodiscard]] std::optional<ThrottleReasons> throttling();
  [[nodiscard]] std::optional<double> temperature();
  [[nodiscard]] std::optional<double> joules();
  [[nodiscard]] std::optional<int> other_processes();
  [[nodiscard]] std::optional<double> foreign_fraction();

  Nvml nvml_;
  NvmlDevice device_ = nullptr;
  std::optional<WatchGap> gap_;
  std::vector<std::string> missing_;
  std::vector<NvmlProcess> processes_;      ///< room for what a call fills in
  std::vector<NvmlProcessSample> samples_;  ///< the same
  unsigned long long last_sample_ = 0;      ///< timestamp of the newest sample seen
};

}  // namespace ptbench
