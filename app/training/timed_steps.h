#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/config/configuration.h"
#include "app/config/run_progress.h"
#include "app/training/step_pace.h"
#include "src/base/size.h"
#include "src/data/dataset.h"
#include "src/measure/machine_probe.h"
#include "src/measure/plan_measuring.h"
#include "src/measure/record.h"
#include "src/measure/sampling.h"
#include "src/measure/step_protocol.h"
#include "src/process/long_work.h"
#include "strategies/conductor.h"
#include "strategies/strategy.h"

namespace ptbench {

/// The steps of a run that are timed, on rank 0: until the run is as long as was asked for, or has
/// reached its target, and in turns where others have theirs. What a step comes to, and what there
/// is to warn of, goes into the record.
class TimedSteps {
 public:
  /// All of it outlives the steps.
  TimedSteps(const RunConfig& config, const RunSurroundings& around, RunProgress& watch,
             RunRecord& record);

  /// Warms up and measures. The conductor already leads the steps of `strategy`; `steps_per_epoch`
  /// is of `data`. Throws a run error where training diverges.
  [[nodiscard]] Samples measure(Strategy& strategy, const DataSource& data, Size steps_per_epoch,
                                MachineProbe& probe, Conductor& conductor);

 private:
  [[nodiscard]] MeasuringPlan plan(Size steps_per_epoch) const;
  [[nodiscard]] std::optional<TurnClient> turns(Strategy& strategy, Conductor& conductor);
  [[nodiscard]] bool must_read_every_loss(Strategy& strategy) const;
  float read_loss(Strategy& strategy);
  void show(const SamplingProgress& progress);
  void tell_length(double elapsed, double all);
  [[nodiscard]] std::string throughput_so_far() const;
  void warn_of_missed_target();

  const RunConfig& config_;
  const RunOptions& options_;
  const RunSurroundings& around_;
  RunProgress& watch_;
  RunRecord& record_;
  StepPace pace_;  ///< of the phase that is shown
  LongWork whole_;
};

}  // namespace ptbench
