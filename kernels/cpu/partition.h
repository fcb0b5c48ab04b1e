#pragma once

#include <algorithm>

#include "src/base/size.h"

namespace ptbench {

/// How many members a job of `work` simple operations is worth: waking one costs about as much as
/// 16 Ki of them.
[[nodiscard]] constexpr int members_for(Size work, int team_size) {
  constexpr Size kWorthWaking = Size{1} << 14U;
  return static_cast<int>(std::clamp<Size>(work / kWorthWaking, 1, team_size));
}

}  // namespace ptbench
