#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"

namespace ptbench {

// What a sweep makes of the records of its rows.

/// Begins the reason of a row that a sweep left between two of its repetitions.
inline constexpr std::string_view kAfterRounds = "stopped by a signal after ";

[[nodiscard]] Size repetitions_of(const RunRecord& record);

/// The whole repetitions of an earlier record, which a row goes on from. Empty where there are
/// none, and for a failure, which is tried again.
[[nodiscard]] std::optional<RunRecord> whole_part(RunRecord record, const PriorNoise& prior);

/// What keeps repetitions of two times from being one run's; empty where nothing is known to.
[[nodiscard]] std::string change_between(const RunRecord& earlier, const RunRecord& now);

/// What `earlier`, which goes on here, was measured with and is not what measures now.
[[nodiscard]] std::vector<std::string> differences_of(const ResultFile& earlier,
                                                      const ResultFile& now);

/// What a process measured of a row. One that ended before it could describe what it measures
/// leaves `known` to do so. Rounds end a row: why its last repetition ended is of no interest, but
/// for one of fixed length.
[[nodiscard]] RunRecord completed(RunRecord measured, const RunRecord& known);

}  // namespace ptbench
