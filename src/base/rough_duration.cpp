#include "src/base/rough_duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/size.h"

namespace ptbench {
namespace {

std::string rounded(double value, const char* unit, Size step = 1) {
  const Size count = step * std::max<Size>(1, std::llround(value / static_cast<double>(step)));
  return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
}

}  // namespace

std::string rough_duration(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr Size kTens = 10;
  if (seconds < kTens) return rounded(seconds, "second");
  if (seconds < 1.5 * kMinute) return rounded(seconds, "second", kTens);
  if (seconds < 1.5 * kHour) return rounded(seconds / kMinute, "minute");
  return rounded(seconds / kHour, "hour");
}

}  // namespace ptbench
