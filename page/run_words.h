#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

// What the page calls runs and their figures.

/// Whether throughput was measured, by a run that is not known to compute something else.
[[nodiscard]] bool has_throughput(const RunRecord& run);

/// "17.0 k samples/s"; `run` has a throughput, as below.
[[nodiscard]] std::string speed_text(const RunRecord& run);
/// "17.0 k samples/s ± 7.5 %".
[[nodiscard]] std::string throughput_words(const RunRecord& run);

/// A short name for each run, no two alike: "ddp on 2 ranks", with precision, batch and threads
/// where these tell runs apart, or the id.
[[nodiscard]] std::vector<std::string> names_of(std::span<const RunRecord* const> runs);

}  // namespace ptbench
