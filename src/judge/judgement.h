#pragma once

#include <optional>
#include <string>

#include "src/judge/comparison.h"
#include "src/judge/log_change.h"

namespace ptbench {

/// How a run's step has changed.
struct StepChange {
  ComparedBy by;
  LogChange typical;
  std::optional<LogChange> whole;  ///< of `by.whole`
};

struct Judgement {
  Verdict verdict = Verdict::ambiguous;
  std::string reason;           ///< why; empty where the typical step says it all
  double p_value = 1;           ///< see `p_value_of`; 1 but of slower and faster
  bool rests_on_whole = false;  ///< on `StepChange::whole`, else on the typical step
};

/// A step is slower if the typical one or the mean is (`verdict_of`), and neither is faster; and
/// the reverse. Opposite directions are ambiguous. It is the same if the typical one is, and the
/// mean, whose interval may be wide, has not moved by over detect / 2 either.
[[nodiscard]] Judgement judge_step(const StepChange& step, double detect);

/// What `judgement`, of that change, rests on.
[[nodiscard]] DecidingChange deciding_change(const StepChange& step, const Judgement& judgement);

/// Writes the figures of a change: step times, change and intervals.
void describe_change(const StepChange& step, RunComparison& result);

}  // namespace ptbench
