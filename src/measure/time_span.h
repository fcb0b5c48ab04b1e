#pragma once

#include <span>

namespace ptbench {

/// Between two readings of a clock, in seconds.
struct TimeSpan {
  double begin = 0;
  double end = 0;
};

/// For how many seconds one of `spans` at least goes on. Sorts them.
[[nodiscard]] double seconds_covered(std::span<TimeSpan> spans);

}  // namespace ptbench
