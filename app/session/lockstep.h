#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/turn_taker.h"
#include "src/base/clock.h"
#include "src/base/size.h"

namespace ptbench {

/// How long turns are, and how many a set of processes takes.
/// Short turns: the speed of a busy host also changes within tenths of a second, and what is
/// shorter than a palindrome does not cancel out (docs/measuring.md).
struct LockstepPlan {
  double turn_seconds = 0.03;  ///< that are measured, at least
  Size turn_steps = 3;         ///< the same
  Size rounds = 20;            ///< palindromes of turns
  double most_seconds = 6;     ///< no further palindrome begins after that
};

/// What became of one taker.
enum class TurnsOutcome : std::uint8_t {
  measured,  ///< its record has the repetition
  idle,      ///< another failed before it had a turn, so that nothing was measured
  failed,    ///< or was interrupted; its record says why
};

struct LockstepOutcome {
  std::string impossible;              ///< why there were no turns at all; empty where there were
  std::vector<TurnsOutcome> outcomes;  ///< of each taker; empty where there were no turns
  double starting_seconds = 0;         ///< until all were warm
};

/// What LockstepSet::show is told, once all have begun.
inline constexpr std::string_view kTakingTurns = "taking turns";

/// What a set of takers is measured with.
struct LockstepSet {
  std::string name;                 ///< no other set's
  std::vector<std::string> labels;  ///< of each taker, for progress
  std::uint64_t seed = 0;           ///< draws the orders
  std::function<Bytes()> available_memory;
  const Clock& clock;
  /// Shows people what the set does, and which share of that is over; empty: nobody looks. Called
  /// between turns.
  std::function<void(std::string_view doing, double share)> show = nullptr;
};

/// One repetition of each taker, all at a time: every process is started and warmed up, and then
/// only the one that has its turn does not sleep. Turns come in palindromes (A B B A), whose order
/// is drawn anew each time, so that whatever changes evenly meets all alike: Abedi and Brecht,
/// "Conducting repeatable experiments in highly variable cloud computing environments" (2017);
/// Bulej et al., "Duet benchmarking" (2020). Takers begin in their order, and none is larger than
/// the first: where that one leaves too little memory for the others, there are no turns.
[[nodiscard]] LockstepOutcome measure_in_lockstep(std::span<TurnTaker* const> takers,
                                                  const LockstepPlan& plan, const LockstepSet& set);

}  // namespace ptbench
