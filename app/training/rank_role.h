#pragma once

#include "src/base/function_ref.h"
#include "strategies/conductor.h"
#include "strategies/strategy.h"

namespace ptbench {

/// The part that this rank plays in the one script of all ranks. Rank 0 leads: it alone looks at
/// clocks, stop rules and signals. What it decides reaches the others where the script decides, and
/// the steps that it makes where the script makes them: each is one call that every rank passes, so
/// that none waits for a word that nobody says.
class RankRole {
 public:
  /// The conductor outlives the role.
  explicit RankRole(Conductor& conductor) : conductor_(conductor) {}

  [[nodiscard]] bool leads() const { return conductor_.leads(); }
  [[nodiscard]] Conductor& conductor() const { return conductor_; }

  /// Rank 0's answer, on all ranks; nobody else is asked. Waits for it as long as work by itself
  /// may take.
  [[nodiscard]] bool decide(FunctionRef<bool()> answer) const;
  /// Calls `lead` on rank 0. The others make each step of `strategy` that it makes, and do what
  /// `follower` says, until it returns.
  void in_step(Strategy& strategy, FunctionRef<void()> lead,
               const Conductor::Follower& follower) const;
  void in_step(Strategy& strategy, FunctionRef<void()> lead) const { in_step(strategy, lead, {}); }

 private:
  Conductor& conductor_;
};

}  // namespace ptbench
