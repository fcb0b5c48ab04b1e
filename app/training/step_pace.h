#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "src/base/size.h"

namespace ptbench {

/// How long a step of a phase takes, so far, for people who watch: the median of pieces of at least
/// ten milliseconds, since single steps of ranks that run ahead of each other say little. Takes a
/// fixed piece of memory, and no time to speak of.
class StepPace {
 public:
  /// `steps` of the phase are through, those since the last call at `step_seconds` each.
  void add(Size steps, double step_seconds);
  /// In seconds; empty before the first piece.
  [[nodiscard]] std::optional<double> step_seconds() const;
  /// A new phase begins.
  void clear() { *this = {}; }

 private:
  void keep(double value);

  Size steps_ = 0;            ///< of the phase
  Size steps_of_piece_ = 0;   ///< of the one that is growing
  double piece_seconds_ = 0;  ///< that they lasted
  std::array<double, 256> kept_{};
  std::size_t count_ = 0;  ///< of `kept_`
  Size stride_ = 1;        ///< one piece in so many is kept, once there are many
  Size until_next_ = 0;    ///< pieces to be passed over before that
};

}  // namespace ptbench
