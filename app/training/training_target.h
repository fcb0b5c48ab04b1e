#pragma once

#include <functional>
#include <optional>

#include "app/config/run_config.h"
#include "src/base/clock.h"
#include "src/data/dataset.h"
#include "workloads/program.h"

namespace ptbench {

/// Looks after each epoch whether training has become as good as --target-accuracy or --target-loss
/// asks, and how long that took. The time of looking does not count.
class TrainingTarget {
 public:
  /// Time runs from now. Everything outlives the watch.
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

}  // namespace ptbench
