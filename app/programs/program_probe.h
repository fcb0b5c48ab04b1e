#pragma once

#include <optional>
#include <vector>

#include "app/programs/program_steps.h"
#include "src/device/core_latency.h"
#include "src/device/cpu_load.h"
#include "src/device/energy.h"
#include "src/device/frequency_sampler.h"
#include "src/measure/slice_probe.h"
#include "src/measure/turns.h"

namespace ptbench {

/// Looks at the machine while a program rests, between its slices: latency between the cores that
/// it may use, their frequency, who else used them (neither the program nor this process), and
/// energy.
class ProgramProbe final : public SliceProbe {
 public:
  /// `steps` outlive the probe.
  explicit ProgramProbe(ProgramSteps& steps);

  /// The length of the next slices.
  void plan(double seconds, Size steps) { plan_ = {.seconds = seconds, .steps = steps}; }

  void begin() override;
  [[nodiscard]] SliceConditions end() override;

 private:
  struct View {
    std::optional<CoreLatency> latency;  ///< empty on one core
    double frequency_hertz = 0;          ///< of the slowest core
    std::optional<CpuTimes> times;
  };
  [[nodiscard]] View look();
  [[nodiscard]] std::optional<CpuTimes> times() const;

  ProgramSteps& steps_;
  std::vector<int> cpus_;
  CpuLoad load_;
  FrequencySampler clock_;  ///< in slices that are no turns, which are short
  EnergyMeter energy_;
  Turn plan_{.seconds = kSliceSeconds};
  View begin_;
};

}  // namespace ptbench
