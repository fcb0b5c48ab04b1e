#pragma once

#include <cstdint>
#include <optional>

#include "app/programs/running_program.h"
#include "src/base/clock.h"
#include "src/base/size.h"

namespace ptbench {

/// The steps of a program, one by one, as if this process made them: the program is granted steps
/// ahead, and each is taken once all ranks have reported it. The clock shows how long the steps
/// lasted until now, by the program's own clock, each as long as the slowest rank took; time
/// between steps does not count.
class ProgramSteps final : public Clock {
 public:
  /// `program` has said hello and outlives the steps.
  explicit ProgramSteps(RunningProgram& program) : program_(program) {}

  [[nodiscard]] double now() const override;

  /// From now on it is a run error where the program has trained for so many seconds by ptbench's
  /// clock beyond several times what its steps last by what it tells: it would train for ever if it
  /// told durations in another unit. Empty: no longer.
  void end_after(std::optional<double> seconds);
  /// Takes the next step. Throws NoMoreSteps where the program has left, or was interrupted.
  void step();

  /// Next come at least so many seconds and steps and then a rest: the program is granted all of
  /// them at once, as far as its pace tells how many they are. Without a plan it is granted steps
  /// ahead of those that it reports, so that it never waits.
  void expect(double seconds, Size steps);
  /// Waits until the program has done all that it was granted and sleeps. Steps that were not taken
  /// are dropped. Returns at once where nothing was granted since it rested.
  void rest();
  /// Seconds for which processes beside the ranks, such as loaders of data, worked on at the last
  /// rest, 0 where that was a moment; and at most rests, 0 where they did so at less than half.
  [[nodiscard]] double helpers_worked() const { return helpers_worked_; }
  [[nodiscard]] double usual_help() const;
  /// Takes steps that do not count: at least one, and what begins within so many seconds.
  void settle(double seconds);
  /// Makes so many steps of which phases are wanted.
  void observe(Size steps);

  /// Whether a rank told that it trains on another device than CPUs.
  [[nodiscard]] bool uses_accelerator() const;
  /// Steps that were dropped, or did not count.
  [[nodiscard]] Size dropped() const { return dropped_; }
  /// Seconds of a step, lately; 0 before there was one.
  [[nodiscard]] double pace() const { return pace_; }

 private:
  [[nodiscard]] bool take();
  [[nodiscard]] Size steps_within(double seconds) const;
  void grant_ahead();
  void grant_plan();
  void listen();
  void hear();

  RunningProgram& program_;
  std::optional<double> most_seconds_;
  double told_before_ = 0;  ///< now(), when `most_seconds_` began
  double elapsed_ = 0;      ///< since then by ptbench's clock, without what it was stopped for
  double last_look_ = 0;    ///< of that clock
  SteadyClock clock_;
  std::int64_t nanoseconds_ = 0;  ///< of all steps so far
  std::int64_t taken_ = 0;        ///< number of the last one
  double previous_ = 0;           ///< seconds of the newest step
  double pace_ = 0;
  bool is_planned_ = false;
  bool is_timed_ = false;
  double plan_end_ = 0;              ///< of the clock, at least
  std::int64_t plan_last_step_ = 0;  ///< its number, at least
  Size dropped_ = 0;
  std::int64_t rested_after_ = 0;  ///< number of the last step that was granted then
  double helpers_worked_ = 0;
  double help_seconds_ = 0;  ///< of all rests
  Size helped_rests_ = 0;
  Size rests_ = 0;
};

}  // namespace ptbench
