#pragma once

#include <optional>

#include "src/base/size.h"

namespace ptbench {

/// One turn of processes that are measured in lockstep: the process that has it trains, the others
/// sleep. It lasts until both `seconds` and `steps` are reached.
struct Turn {
  Size number = 0;     ///< among the turns of all processes of the set, from 0
  double seconds = 0;  ///< of measured steps, at least
  Size steps = 1;      ///< measured, at least
};

/// What was measured in a turn.
struct TurnTaken {
  Size steps = 0;
  double seconds = 0;
};

/// What is left out at the beginning of each turn: its first step, and the steps that begin within
/// this time. Until then caches are another process's, and its threads may still fall asleep.
inline constexpr double kSettleSeconds = 0.008;

/// Who grants a process its turns.
class TurnSource {
 public:
  virtual ~TurnSource() = default;
  /// Sleeps until the process has its next turn. Empty: it has no more, or was interrupted.
  [[nodiscard]] virtual std::optional<Turn> next() = 0;
  /// The turn is over.
  virtual void end(const TurnTaken& taken) = 0;
};

}  // namespace ptbench
