#include "src/measure/plan_measuring.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr Size kFixedWarmup = 10;
constexpr Size kCleanSlices = 2;
/// Share of the time that an automatic warm-up may take.
constexpr double kWarmupShare = 0.5;

MeasuringPlan fixed_steps(Size steps, Size warmup) {
  return {{.warmup_steps = warmup}, std::make_unique<FixedSteps>(steps)};
}

MeasuringPlan fixed_epochs(Size steps, std::optional<Size> asked_warmup) {
  const Size warmup = asked_warmup.value_or(std::min(kFixedWarmup, steps / 2));
  if (warmup >= steps)
    throw usage_error(fmt::format("--warmup {} leaves none of the {} steps of --epochs to measure",
                                  warmup, steps),
                      "warm up for fewer steps or train for more epochs");
  return {{.warmup_steps = warmup},
          std::make_unique<FixedSteps>(steps - warmup, StopReason::epochs)};
}

}  // namespace

MeasuringPlan plan_measuring(const RunLength& length) {
  ensure(!length.steps || !length.epoch_steps, "steps and epochs exclude each other");
  if (length.steps) return fixed_steps(*length.steps, length.warmup.value_or(kFixedWarmup));
  if (length.epoch_steps) return fixed_epochs(*length.epoch_steps, length.warmup);
  return {{.warmup_steps = length.warmup,
           .warmup_limit_seconds = kWarmupShare * length.max_time_seconds},
          std::make_unique<TimeLimit>(
              std::make_unique<CleanSlices>(kCleanSlices, length.min_time_seconds),
              length.max_time_seconds)};
}

}  // namespace ptbench
