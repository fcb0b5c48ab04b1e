#pragma once

#include <string>

#include "src/measure/log_change.h"
#include "src/measure/record.h"
#include "src/measure/spread.h"

namespace ptbench {

/// One side of a comparison.
struct ComparedSide {
  const SamplesRecord& samples;
  LogTimes times;  ///< `clean_log_times(samples)`
};

/// Why no placement class has enough clean repetitions on both sides, and what kept them from being
/// clean, for people: "2 clean repetitions of NEW near, 3 are needed: other programs used 34 % of
/// the cores".
[[nodiscard]] std::string why_too_few(const ComparedSide& base, const ComparedSide& fresh);

/// Why `verdict_of` says of `change` that it is ambiguous.
[[nodiscard]] std::string why_ambiguous(const LogChange& change, double detect);

}  // namespace ptbench
