#pragma once

#include <memory>
#include <optional>

#include "src/base/size.h"
#include "src/measure/sampling.h"
#include "src/measure/stop_rule.h"

namespace ptbench {

/// How long the user wants a run to be; `steps` and `epoch_steps` exclude each other.
struct RunLength {
  std::optional<Size> steps = std::nullopt;        ///< --steps: measured, warm-up comes before
  std::optional<Size> epoch_steps = std::nullopt;  ///< --epochs as steps in all, warm-up among them
  std::optional<Size> warmup = std::nullopt;       ///< --warmup; empty: auto
  // Where neither steps nor epochs are given:
  double min_time_seconds = 0.4;  ///< of measured steps
  double max_time_seconds = 6;    ///< all in all
};

struct MeasuringPlan {
  SamplingConfig config;
  std::unique_ptr<StopRule> rule;
};

/// Sampling and stop rule of one repetition: until two slices were clean with the cores in one
/// placement, or its time is over. A run of fixed length warms up for a fixed number of steps, 10
/// where the user leaves it open (half of the epochs' steps if they are fewer than 20), so that a
/// replay trains the same steps; else warm-up goes by time. Throws a usage error where warm-up
/// leaves nothing to measure.
[[nodiscard]] MeasuringPlan plan_measuring(const RunLength& length);

}  // namespace ptbench
