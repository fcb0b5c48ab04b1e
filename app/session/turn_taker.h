#pragma once

#include <cstdint>
#include <string>

#include "src/measure/turns.h"

namespace ptbench {

/// How a repetition in turns begins.
enum class TurnsBegin : std::uint8_t {
  ready,       ///< its process is warm and sleeps
  impossible,  ///< the program knows no turns; whole repetitions can be measured
  failed,      ///< the record says why
};

/// A program that is measured in turns with others.
class TurnTaker {
 public:
  virtual ~TurnTaker() = default;
  /// Starts a repetition that takes its steps in turns. Once it is ready it sleeps, and one of the
  /// others comes next. `label` stands before its progress.
  [[nodiscard]] virtual TurnsBegin begin_turns(const std::string& label) = 0;
  /// The process has that turn and sleeps again. False: it ended, and the record says why.
  [[nodiscard]] virtual bool take_turn(const Turn& turn) = 0;
  /// Ends the repetition, which belongs to the set of that name (RepetitionRecord::lockstep).
  /// False: it failed or was interrupted, and the record says why.
  [[nodiscard]] virtual bool end_turns(const std::string& set) = 0;
  /// Ends the repetition and keeps nothing of it.
  virtual void abandon_turns() = 0;
};

}  // namespace ptbench
