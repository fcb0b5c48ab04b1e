#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "app/config/configuration.h"
#include "app/config/run_options.h"
#include "app/config/run_progress.h"
#include "src/base/clock.h"
#include "src/base/size.h"
#include "src/data/dataset.h"
#include "src/measure/machine_probe.h"
#include "src/measure/plan_measuring.h"
#include "src/measure/record.h"
#include "src/measure/sampling.h"
#include "src/measure/step_protocol.h"
#include "src/process/long_work.h"
#include "strategies/conductor.h"
#include "strategies/drag.h"
#include "strategies/strategy.h"
#include "workloads/program.h"

namespace ptbench {

/// How long a step of a phase takes, so far, for people who watch: the median of pieces of at least
/// ten milliseconds, since single steps of ranks that run ahead of each other say little. Takes a
/// fixed piece of memory, and no time to speak of.
class StepPace {
 public:
  /// `steps` of the phase are through, those since the last call at `step_seconds` each.
  void add(Size steps, double step_seconds);
  /// In seconds; empty before the first piece.
  [[nodiscard]] std::optional<double> step_seconds() const;
  /// A new phase begins.
  void clear() { *this = {}; }

 private:
  void keep(double value);

  Size steps_ = 0;            ///< of the phase
  Size steps_of_piece_ = 0;   ///< of the one that is growing
  double piece_seconds_ = 0;  ///< that they lasted
  std::array<double, 256> kept_{};
  std::size_t count_ = 0;  ///< of `kept_`
  Size stride_ = 1;        ///< one piece in so many is kept, once there are many
  Size until_next_ = 0;    ///< pieces to be passed over before that
};

/// Looks after each epoch whether training has become as good as --target-accuracy or --target-loss
/// asks, and how long that took. The time of looking does not count.
class TrainingTarget {
 public:
  /// Time runs from now. Everything outlives the target.
  TrainingTarget(const RunOptions& options, const DataSource& data, Size steps_per_epoch,
                 const Clock& clock, std::function<bool()> keep_going);

  /// Whether there is a target.
  [[nodiscard]] static bool asked(const RunOptions& options) {
    return options.target_accuracy.has_value() || options.target_loss.has_value();
  }

  /// After each step, with its loss.
  void step(float loss);
  /// Between samples, which must not reach over the end of an epoch: looks, if one has ended.
  void look(Program& program);

  [[nodiscard]] const bool& reached() const { return reached_; }
  /// Whether there was a target that was not reached.
  [[nodiscard]] bool missed() const { return asked(*options_) && !reached_; }
  /// Seconds of training until the target; empty unless it was reached.
  [[nodiscard]] std::optional<double> seconds() const { return seconds_; }

 private:
  [[nodiscard]] bool good_enough(Program& program) const;

  const RunOptions* options_;
  const DataSource* data_;
  Size steps_per_epoch_;
  const Clock* clock_;
  std::function<bool()> keep_going_;
  double begin_;
  double looking_seconds_ = 0;
  Size steps_ = 0;
  double loss_sum_ = 0;               ///< of this epoch
  std::optional<double> epoch_loss_;  ///< mean of the epoch that ended since the last look
  bool reached_ = false;
  std::optional<double> seconds_;
};

/// The steps of a run that are timed, on rank 0: until the run is as long as was asked for, or has
/// reached its target, and in turns where others have theirs. What a step comes to, and what there
/// is to warn of, goes into the record.
class TimedSteps {
 public:
  /// All of it outlives the steps.
  TimedSteps(const RunConfig& config, const RunSurroundings& around, RunProgress& watch,
             RunRecord& record);

  /// Warms up and measures. The conductor already leads the steps of `strategy`, which `drag` makes
  /// longer; `steps_per_epoch` is of `data`. Throws a run error where training diverges.
  [[nodiscard]] Samples measure(Strategy& strategy, StepDrag& drag, const DataSource& data,
                                Size steps_per_epoch, MachineProbe& probe, Conductor& conductor);

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
