#pragma once

#include <functional>
#include <optional>

#include "src/base/clock.h"
#include "src/base/function_ref.h"
#include "src/base/size.h"
#include "src/device/device.h"
#include "strategies/strategy.h"

namespace ptbench {

/// Makes work last longer by a share of it: after each piece of work it spins, on every thread that
/// computes, until one common moment. A thread that only waited meanwhile would fall asleep, as
/// those of a team do after 100 µs, and the work to come would be longer by its waking up too.
///
/// What one drag lasts too long (threads are started together, and a clock is read in steps) later
/// ones are shorter by, so that work is longer by the share also where it is short.
class Drag {
 public:
  /// Calls a job once on each of the threads that spin, and returns when all have returned.
  using Threads = std::function<void(FunctionRef<void()> job)>;

  /// None: reads no clock, and no thread spins.
  Drag() = default;
  /// `share` (not below 0) of the work; 0: none. Without `threads`, the caller spins alone. The
  /// clock, and what the threads are of, outlive the drag.
  Drag(double share, const Clock& clock, Threads threads = {});

  [[nodiscard]] bool is_on() const { return clock_ != nullptr; }
  /// Work goes on.
  void begin() {
    if (clock_ != nullptr) begin_ = clock_->now();
  }
  /// It pauses or ends: spins.
  void end();

  /// By which share the work since then was made longer; empty where there was none, or no drag.
  [[nodiscard]] std::optional<double> realized() const;
  void count_anew() { worked_ = spun_ = 0; }

 private:
  const Clock* clock_ = nullptr;
  double share_ = 0;
  Threads threads_;
  double begin_ = 0;
  double owed_ = 0;    ///< seconds to spin; negative: of which too many were spun
  double worked_ = 0;  ///< seconds
  double spun_ = 0;    ///< seconds
};

/// All host threads that compute on `device`, which outlives what it returns.
[[nodiscard]] Drag::Threads threads_of(Device& device);

/// Drags a replica's work, in imbalance on purpose: what its device does meanwhile, not what it was
/// given before or is given. Empty without a drag. The device outlives it.
[[nodiscard]] ComputeObserver dragging(const Drag& drag, Device& device);

/// Makes a strategy's steps longer, each as a whole: all of them, or of 2·`turn` the latter half,
/// which tells what a drag does beside what steps of the same process take without. Ranks drag
/// their own steps, so that none falls asleep while it waits for another.
class StepDrag {
 public:
  /// The strategy outlives this, and no step is made after this.
  StepDrag(Drag drag, Strategy& strategy, Size turn = 0);
  StepDrag(const StepDrag&) = delete;
  StepDrag& operator=(const StepDrag&) = delete;
  ~StepDrag() = default;

  /// As Drag has it.
  [[nodiscard]] std::optional<double> realized() const { return drag_.realized(); }
  void count_anew() { drag_.count_anew(); }

 private:
  void make(Strategy& strategy, FunctionRef<void()> step);

  Drag drag_;
  Size turn_;  ///< steps; 0: all are dragged
};

}  // namespace ptbench
