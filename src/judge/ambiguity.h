#pragma once

#include <string>

#include "src/judge/log_change.h"
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

/// "5.2 % slower".
[[nodiscard]] std::string change_text(const LogChange& change);

/// "change of 1.2 % with a 99 % interval of -0.85 % to 3.3 %".
[[nodiscard]] std::string interval_text(const LogChange& change);

/// Why `verdict_of` says of `change` that it is ambiguous.
[[nodiscard]] std::string why_ambiguous(const LogChange& change, double detect);

/// Why it is not known whether a change of the clock (of its logarithm, NEW less BASE) explains the
/// verdict that times have: "the cores' clock was 4 % lower in NEW: slower by time, same at one
/// clock, and …".
[[nodiscard]] std::string why_clock(double clock_change, Verdict by_time, Verdict by_cycles);

/// What to know of a step that is the same by cycles though not by time: "slower by time, with a
/// clock of the cores that was 4 % lower; if NEW itself makes it so, …".
[[nodiscard]] std::string why_same_in_cycles(double clock_change, Verdict by_time);

}  // namespace ptbench
