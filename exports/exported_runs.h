#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/measure/record.h"

namespace ptbench {

// What exports have in common: which runs have figures, and which figures are told.

/// A result, and what its file is called.
struct NamedResult {
  std::string file;
  ResultFile result;
};

/// Whether a run has figures that may be told: those of a run that failed, or that did not match
/// serial training, may not.
enum class Outcome { measured, failed, skipped };
[[nodiscard]] Outcome outcome_of(const RunRecord& run);

/// Why a run is not `measured`: "failed: rank 1 died".
[[nodiscard]] std::string reason_of(const RunRecord& run);

/// What a reader should know of the figures of a measured run, each a few words: "interrupted",
/// "slowed down on purpose by 5 %", and the codes of warnings. On one line.
[[nodiscard]] std::vector<std::string> remarks_of(const RunRecord& run);

/// `value` unless it is infinite or no number.
[[nodiscard]] std::optional<double> finite(const std::optional<double>& value);
/// `interval` unless an end is infinite or no number.
[[nodiscard]] std::optional<Interval> finite(const std::optional<Interval>& interval);

/// What a repetition says of a step.
struct RepetitionStep {
  Size number = 0;            ///< of the repetition, from 0
  double seconds = 0;         ///< its median step
  std::optional<Size> steps;  ///< that it counted; empty: not known
  /// "not clean", "not known to be clean"; empty: clean
  std::string remark;
};
/// The repetitions of a run whose median step is known. A run that knows no repetition has one, of
/// its own median.
[[nodiscard]] std::vector<RepetitionStep> repetition_steps(const RunRecord& run);

inline constexpr std::string_view kAreClean = " repetitions clean";
/// "4 of 5"; with `kAreClean` for `what`, "0 of 5 repetitions clean, 5 unknown". Empty where
/// there is no repetition.
[[nodiscard]] std::string clean_repetitions_text(const SamplesRecord& samples,
                                                 std::string_view what = {});

/// "vm-17, Some Maker CPU, 2 cores", as far as it is known.
[[nodiscard]] std::string machine_text(const EnvironmentRecord& environment);
/// "ptbench 0.1.0 abc1234 Release", as far as it is known.
[[nodiscard]] std::string build_text(const GeneratorRecord& generator);

}  // namespace ptbench
