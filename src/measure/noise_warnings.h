#pragma once

#include <optional>

#include "src/base/size.h"
#include "src/device/pressure.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"
#include "src/measure/sampling.h"

namespace ptbench {

/// What a record does not say of how it was measured.
struct NoiseContext {
  double target_noise = 0.01;  ///< half width of the interval that was asked for, a fraction
  bool fixed_length = false;   ///< one repetition was asked for, as by --steps: nothing is missing
  Size cores = 1;              ///< in use
  std::optional<Pressure> pressure = std::nullopt;  ///< while it was measured
  double max_time_seconds = 30;     ///< that measuring was given: a remedy names more
  bool in_sweep = false;            ///< where --rounds ask for more repetitions, not --repeats
  PriorNoise prior = PriorNoise();  ///< tells which spread is unusual
};

/// Warns of steps that stood still while the run was measured: stood-still. Nothing without any.
void add_standstill_warning(RunRecord& run, const Standstill& standstill);

/// Warns of a warm-up that had to end before steps had settled: short-warmup. Nothing where it had
/// not.
void add_warmup_warning(RunRecord& run, const Samples& samples);

/// Marks the run as a first look, and warns that it is no more: quick.
void mark_quick(RunRecord& run);

/// Warns of what makes a run's figures doubtful, with figures and a remedy each: foreign-load,
/// steal, cores-far, mixed-placement, frequency-changed, those of add_device_warnings, cpu-quota,
/// thermal-throttling, swapping, few-clean-repetitions, too-noisy, mean-above-median (by over 2 %),
/// slowdown. too-noisy: the interval missed the target when the time was up, or the spread is
/// unusual, whatever ended the run. Warnings with these codes that the run already has give way:
/// those that follow from samples always (more of them may have been added since), those of
/// pressure to a newer one.
void add_noise_warnings(RunRecord& run, const NoiseContext& context);

}  // namespace ptbench
