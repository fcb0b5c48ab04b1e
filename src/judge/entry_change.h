#pragma once

#include <optional>
#include <span>

#include "src/judge/log_change.h"
#include "src/measure/prior_noise.h"
#include "src/measure/repetition_times.h"

namespace ptbench {

/// The usual standard deviation between entries of a history, of the logarithm of a step's time: a
/// host is not quite the same from one day to the next.
inline constexpr double kUsualBetweenEntries = 0.012;

/// How NEW differs from entries of a history. Each entry is one piece of evidence, however many
/// repetitions it has: all of them saw the same day.
///
/// Repetitions count from what their placement class usually costs in these entries; an entry's
/// value is the mean of its own, and the change e is NEW's value less the mean of theirs. With the
/// variance v of a value, of k entries, e ± t·√(v / k + v'), where v' = v + what NEW's repetitions
/// scatter beyond those of an entry: a new entry scatters as entries do. v is drawn towards what is
/// usual, `kUsualBetweenEntries`² + s² / n for entries of n repetitions of spread s, which counts
/// as 10 degrees of freedom, and is never below s² / n.
///
/// The spread is unusual where entries, or NEW's repetitions, scatter by over `kUnusualSpread`
/// times what is usual of them. `separation` has the gap between all repetitions of either side,
/// without a p-value, since those of an entry are one piece of evidence.
///
/// Empty where either side has fewer than `kLeastRepetitions` of common classes. By a rule that
/// asks for entries' own spread, from two entries on.
[[nodiscard]] std::optional<LogChange> entry_change(std::span<const LogTimes> entries,
                                                    const LogTimes& fresh, const PriorNoise& prior,
                                                    const IntervalRule& rule = kTypicalRule);

}  // namespace ptbench
