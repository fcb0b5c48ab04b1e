#pragma once

#include <optional>

#include "src/measure/record.h"
#include "strategies/verify.h"

namespace ptbench {

/// Warns (slower_than_fp32) where steps in the precision of `strategy` were clearly longer than
/// those of the oracle in fp32 that they were compared with. These were few, and each began with
/// cold caches: the first of either side does not count, and the shortest as well as the middle one
/// of at least four others has to be longer by a tenth.
[[nodiscard]] std::optional<WarningRecord> warning_of_pace(const StrategyRecord& strategy,
                                                           const ComparedSteps& steps);

}  // namespace ptbench
