#include "src/measure/time_span.h"

#include <algorithm>
#include <limits>

namespace ptbench {

double seconds_covered(std::span<TimeSpan> spans) {
  std::ranges::sort(spans, {}, &TimeSpan::begin);
  double covered = 0;
  double until = -std::numeric_limits<double>::infinity();
  for (const TimeSpan& span : spans) {
    covered += std::max(0.0, span.end - std::max(span.begin, until));
    until = std::max(until, span.end);
  }
  return covered;
}

}  // namespace ptbench
