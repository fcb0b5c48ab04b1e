#pragma once

#include <functional>
#include <vector>

#include "src/base/clock.h"
#include "src/measure/record.h"
#include "src/measure/step_trace.h"
#include "strategies/strategy.h"

namespace ptbench {

/// Means over the observed steps.
struct ObservedSteps {
  PhasesRecord phases;                   ///< of this process; they add up to the step
  std::vector<ReplicaSeconds> replicas;  ///< of this process
};

/// Trains `strategy`, a copy made for this, and returns the mean seconds of its steps' phases.
/// Warms up first: 2 steps where one lasts longer than 0.1 s, else 10. Then measures for 0.3 s at
/// least, and at least 3 steps, or 20 where they are fast; but for no longer than the step that
/// passes 2 s. Ends early when `keep_going`, asked before each step, says no: all is empty where
/// no step was measured.
[[nodiscard]] ObservedSteps measure_phases(Strategy& strategy, const Clock& clock,
                                           const std::function<bool()>& keep_going);

/// Trains `strategy`, a copy made for this, and observes the steps of `window` with `timer`, and
/// the one after them: tools that cannot know whether the last step is whole leave it out. Steps
/// before the window are not observed; where it has no first step they are a warm-up as above. Ends
/// early when `keep_going`, asked before each step, says no.
void trace_steps(Strategy& strategy, PhaseTimer& timer, const TraceWindow& window,
                 const Clock& clock, const std::function<bool()>& keep_going);

}  // namespace ptbench
