#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/clock.h"
#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// The parts of a training step, as `phases_seconds` calls them.
enum class StepPhase : std::uint8_t {
  data,
  scatter,
  replicate,
  forward,
  gather,
  backward,
  reduce,
  communication,
  optimizer,
};
inline constexpr Size kStepPhases = 9;
[[nodiscard]] std::string_view name_of(StepPhase phase);

/// Adds up the time of phases over steps, nested ones exclusively: while the optimizer runs within
/// backward, only the optimizer's time counts. For one thread. Allocates nothing.
class PhaseTimer {
 public:
  explicit PhaseTimer(const Clock& clock) : clock_(clock) {}

  void enter(StepPhase phase);
  /// Leaves the innermost phase.
  void leave();

  void begin_step();
  void end_step();
  [[nodiscard]] Size steps() const { return steps_; }
  /// Means over the steps; phases that were never entered are empty. `other` is what no phase
  /// covers, so that all add up to the step.
  [[nodiscard]] PhasesRecord means() const;
  /// Mean duration of a step in seconds.
  [[nodiscard]] double step_seconds() const;

 private:
  static constexpr std::size_t kDeepest = 8;

  const Clock& clock_;
  std::array<double, kStepPhases> seconds_{};
  std::array<bool, kStepPhases> entered_{};
  std::array<StepPhase, kDeepest> stack_{};
  std::size_t depth_ = 0;
  double since_ = 0;  ///< when the innermost phase last began to count
  double step_begin_ = 0;
  double all_steps_ = 0;  ///< seconds
  Size steps_ = 0;
};

/// A step for as long as it lives: an NVTX range "step" in the domain "ptbench" with the step's
/// number as payload, and a step of `timer`, which may be null.
class StepScope {
 public:
  StepScope(PhaseTimer* timer, Size step);
  ~StepScope();
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  PhaseTimer* timer_;
};

/// A phase for as long as it lives: an NVTX range with the phase's name, whose payload is a
/// micro-batch's index or a number of bytes, and time of `timer`, which may be null. Costs a few
/// nanoseconds where no tool listens and no timer is given.
class PhaseScope {
 public:
  PhaseScope(PhaseTimer* timer, StepPhase phase, std::uint64_t payload = 0);
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  PhaseTimer* timer_;
};

/// Whether this build has NVTX ranges at all: the header was found when it was made.
[[nodiscard]] bool has_nvtx();

}  // namespace ptbench
