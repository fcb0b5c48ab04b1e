#pragma once

#include <optional>

#include "src/base/size.h"
#include "src/device/pressure.h"
#include "src/measure/record.h"

namespace ptbench {

/// What a record does not say of how it was measured.
struct NoiseContext {
  double target_noise = 0.01;  ///< half width of the interval that was asked for, a fraction
  bool fixed_length = false;   ///< one repetition was asked for, as by --steps: nothing is missing
  Size cores = 1;              ///< in use
  std::optional<Pressure> pressure = std::nullopt;  ///< while it was measured
};

/// Warns of what makes a run's figures doubtful, with figures and a remedy each: foreign-load,
/// steal, cores-far, mixed-placement, frequency-changed, cpu-quota, thermal-throttling, swapping,
/// few-clean-repetitions, too-noisy, slowdown. Warnings with these codes that the run already has
/// give way: those that follow from samples always (more of them may have been added since), those
/// of pressure to a newer one.
void add_noise_warnings(RunRecord& run, const NoiseContext& context);

}  // namespace ptbench
