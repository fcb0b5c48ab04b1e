#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/measure/repetition_times.h"

namespace ptbench {

/// A repetition of BASE and one of NEW, made one right after the other: whatever slows the machine
/// down for a while slows both.
struct Round {
  std::string placement;  ///< class of both
  double base_log_time = 0;
  double new_log_time = 0;
};

/// By the wall clock: neighbours in time, one of each side in either order, that began within ten
/// minutes and are both clean and of one placement class; no repetition is in two rounds. Sides
/// that were measured one after the other have one round at most. Repetitions that do not tell when
/// they began are in none. Both sides were measured on one host.
[[nodiscard]] std::vector<Round> rounds_of(std::span<const RepetitionTime> base,
                                           std::span<const RepetitionTime> fresh);

}  // namespace ptbench
