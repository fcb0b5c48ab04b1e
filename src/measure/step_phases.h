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
  wait,  ///< for slower ranks, before communication with them; a part of `communication_exposed`
};
inline constexpr Size kStepPhases = 10;
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
  [[nodiscard]] double now() const { return clock_.now(); }
  /// Seconds in that phase so far, over all steps; while outside of all phases.
  [[nodiscard]] double total(StepPhase phase) const;
  /// What was taken for one phase was another.
  void move(double seconds, StepPhase from, StepPhase to);
  [[nodiscard]] Size steps() const { return steps_; }
  /// Means over the steps; phases that were never entered are empty. `other` is what no phase
  /// covers, so that all add up to the step.
  [[nodiscard]] PhasesRecord means() const;
  /// Mean duration of a step in seconds.
  [[nodiscard]] double step_seconds() const;
  /// The part of the step in which this replica computed until it had its gradients: forward and
  /// backward.
  [[nodiscard]] double compute_seconds() const;
  /// The part of the step in which it waited for slower ranks.
  [[nodiscard]] double wait_seconds() const { return mean_of(StepPhase::wait); }

 private:
  static constexpr std::size_t kDeepest = 8;

  [[nodiscard]] double mean_of(StepPhase phase) const;

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

/// Whether this build has NVTX ranges at all: the header was found when it was made.
[[nodiscard]] bool has_nvtx();

/// Whether a tool listens to this process. Looks for one, which may take as long as opening a
/// library.
[[nodiscard]] bool find_nvtx_tool();

/// Whether a tool listens, found out once: NVTX itself attaches a tool once a process.
[[nodiscard]] inline bool nvtx_listens() {
  static const bool listens = find_nvtx_tool();
  return listens;
}

/// A step for as long as it lives: an NVTX range "step" in the domain "ptbench" with the step's
/// number as payload, and a step of `timer`, which may be null.
class StepScope {
 public:
  StepScope(PhaseTimer* timer, Size step)
      : timer_(timer), is_watched_(timer != nullptr || nvtx_listens()) {
    if (is_watched_) begin(step);
  }
  ~StepScope() {
    if (is_watched_) end();
  }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  void begin(Size step);
  void end();

  PhaseTimer* timer_;
  bool is_watched_;
};

/// A phase for as long as it lives: an NVTX range with the phase's name, whose payload is a
/// micro-batch's index or a number of bytes, and time of `timer`, which may be null. Where no tool
/// listens and no timer is given it is two comparisons, inline: steps may last a microsecond.
class PhaseScope {
 public:
  PhaseScope(PhaseTimer* timer, StepPhase phase, std::uint64_t payload = 0)
      : timer_(timer), is_watched_(timer != nullptr || nvtx_listens()) {
    if (is_watched_) begin(phase, payload);
  }
  ~PhaseScope() {
    if (is_watched_) end();
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  void begin(StepPhase phase, std::uint64_t payload);
  void end();

  PhaseTimer* timer_;
  bool is_watched_;
};

}  // namespace ptbench
