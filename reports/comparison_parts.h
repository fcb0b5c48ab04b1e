#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/judge/comparison.h"

namespace ptbench {

// What the texts of a comparison have in common.

/// All verdicts, in the order in which they are counted.
inline constexpr std::array kVerdicts{Verdict::same,      Verdict::faster,      Verdict::slower,
                                      Verdict::ambiguous, Verdict::missing,     Verdict::added,
                                      Verdict::failed,    Verdict::incomparable};

[[nodiscard]] std::size_t count_of(const Comparison& comparison, Verdict verdict);

/// "12 same, 1 slower, 2 ambiguous".
[[nodiscard]] std::string counts_text(const Comparison& comparison);

/// What the columns of its table mean.
[[nodiscard]] std::string columns_text(const Comparison& comparison);

/// What the differences of the environments mean for the verdicts; empty where there are none.
[[nodiscard]] std::string_view environment_meaning(const Comparison& comparison);

/// "left out of BASE: 9 entries of the history (plan a1 / b2 and 1 more)"; empty where none were.
[[nodiscard]] std::string left_out_text(const std::optional<LeftOut>& left_out);

/// That no run was judged, and the remedy: an exit code of 0 looks like a pass. Empty where one
/// was, and where there are none.
[[nodiscard]] std::string unjudged_text(const Comparison& comparison);

/// "2 runs are called slower or faster: at most 0.02 false alarms among them are expected"; empty
/// where there are none.
[[nodiscard]] std::string false_alarms_text(const Comparison& comparison);

/// What distinguishes the sides: differences, then remarks.
[[nodiscard]] std::vector<std::string> distinctions(const Comparison& comparison);
[[nodiscard]] std::vector<std::string> distinctions(const RunComparison& run);

/// What takes no verdict away: remarks, and what of a history was left out.
[[nodiscard]] std::vector<std::string> remarks_of(const Comparison& comparison);

/// "5.0 %".
[[nodiscard]] std::string percent_text(double fraction);
/// "median", "mean", "lower quartile".
[[nodiscard]] std::string_view words_of(Statistic statistic);
// Of what is shown of a run (`shown_change`):
/// "mean +5.0 %"; empty where no change is known.
[[nodiscard]] std::string change_text(const RunComparison& run);
/// "4.1 % to 5.9 %"; "4.1 % at least" where sides are apart by so much, whatever their interval;
/// empty where it is not known.
[[nodiscard]] std::string interval_text(const RunComparison& run);
/// "(4.1 % to 5.9 %)" after a change; empty where there is nothing to put between brackets.
[[nodiscard]] std::string bracketed_interval(const RunComparison& run);
/// "6.01 ms", or "-": of a step of either side, by the statistic that is shown.
[[nodiscard]] std::string base_text(const RunComparison& run);
[[nodiscard]] std::string new_text(const RunComparison& run);
/// "6.01 ms", or "-".
[[nodiscard]] std::string seconds_text(const std::optional<double>& seconds);
/// Clean repetitions of both sides, "5/5"; "5/5 paired" where rounds were compared, "5/5 cycles"
/// where cycles were, "50/5 window" or "15/5 anchor" of a history.
[[nodiscard]] std::string repetitions_text(const RunComparison& run);

}  // namespace ptbench
