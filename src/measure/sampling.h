#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "src/base/clock.h"
#include "src/base/function_ref.h"
#include "src/base/size.h"
#include "src/measure/record.h"
#include "src/measure/slice_probe.h"
#include "src/measure/stop_rule.h"
#include "src/measure/turns.h"

namespace ptbench {

/// How steps become samples.
struct SamplingConfig {
  /// Steps not measured. Empty: until at least 30 steps and 0.3 s are done and steps have stopped
  /// becoming faster (by 1 % from one tenth of a second to the next; at most 1.5 s), or 2 steps
  /// where one takes over 0.1 s (the first steps are 13–55 % slower; after 30 they are within 1 %).
  std::optional<Size> warmup_steps = std::nullopt;
  /// An automatic warm-up ends by then, so that it cannot eat up the time for measuring.
  double warmup_limit_seconds = std::numeric_limits<double>::infinity();
  /// A sample is as many steps as last this long, so that reading the clock costs nothing.
  double sample_seconds = 1e-3;
  /// A slice is as many samples as last this long, one at least; the last one may be shorter.
  double slice_seconds = kSliceSeconds;
  /// Looks at the machine at both ends of a slice; null: every slice counts as clean.
  SliceProbe* probe = nullptr;
  /// Slices are turns that it grants, until it grants no more: the stop rule is not asked, and
  /// there is no stop reason. Null: slices follow each other. What is left out of a turn counts as
  /// warm-up. Turns too short to tell of load take that of the span of turns that contains them.
  TurnSource* turns = nullptr;
};

/// Time within steps in which these cannot have computed, as where all processes were stopped
/// (SIGSTOP, a frozen container, a debugger), or got no core for as long. Slices in which that
/// happened are not clean.
struct Standstill {
  Size count = 0;      ///< samples that lasted too long
  double seconds = 0;  ///< that they lasted beyond the usual, together
};

/// A sample has a gap where it lasts longer than its steps usually do by this many seconds,
inline constexpr double kLeastGapSeconds = 0.25;
/// and by this many times as long: what other programs take comes in shorter pieces.
inline constexpr double kLeastGapFactor = 1.5;

/// What was measured in one process.
struct Samples {
  Size warmup_discarded = 0;              ///< steps
  Size steps = 0;                         ///< measured
  Size steps_per_sample = 1;              ///< of a usual sample; the last one may be shorter
  std::vector<double> step_seconds;       ///< one a sample: duration / steps
  std::vector<SliceRecord> slices;        ///< over step_seconds, without gaps
  double elapsed_seconds = 0;             ///< warm-up included
  Standstill standstill;                  ///< gaps that no step explains
  std::optional<StopReason> stop_reason;  ///< empty when interrupted, and of turns
  bool interrupted = false;
  /// An automatic warm-up ended since its time was over, and not since steps had settled.
  bool warmup_was_cut = false;
  std::optional<double> started_unix_seconds = std::nullopt;  ///< measure() knows no wall clock
};

/// Where measuring stands, for people.
struct SamplingProgress {
  bool warming_up = false;
  Size steps = 0;                      ///< done in this phase
  double step_seconds = 0;             ///< latest
  double elapsed_seconds = 0;          ///< since warm-up began
  std::optional<double> seconds_left;  ///< estimated
};

/// Thrown by a step that cannot be made, since there are no more: what was sampled before it stays.
struct NoMoreSteps {};

/// For steps that are done when they return.
inline constexpr auto kNothingToFinish = [] {};

/// Warms up, then takes samples until `rule` has enough or `interrupted` says yes. `step` starts
/// one whole optimizer step and is called exactly warmup_discarded + steps times; `finish` waits
/// until the steps that were started are done, and is called before each look at the clock.
/// `interrupted` and `progress` are called between samples and between warm-up steps, outside the
/// time that counts, so `progress` is also the place to write logs; so is the probe, at the ends of
/// slices. After warm-up, nothing is allocated between steps. What `step` and `finish` throw passes
/// through, but for NoMoreSteps, which ends the samples without a reason.
[[nodiscard]] Samples measure(FunctionRef<void()> step, const SamplingConfig& config,
                              StopRule& rule, const Clock& clock, FunctionRef<bool()> interrupted,
                              FunctionRef<void(const SamplingProgress&)> progress,
                              FunctionRef<void()> finish = kNothingToFinish);

}  // namespace ptbench
