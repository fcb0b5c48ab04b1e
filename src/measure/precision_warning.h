#pragma once

#include <string>

#include "src/measure/record.h"

namespace ptbench {

inline constexpr const char* kSlowerThanFp32 = "slower-than-fp32";

/// What a run in another precision is told that takes longer than in fp32, as `why` says.
/// `is_sure`: both were measured as runs are.
[[nodiscard]] WarningRecord slower_than_fp32(const StrategyRecord& strategy, bool is_sure,
                                             std::string why);

}  // namespace ptbench
