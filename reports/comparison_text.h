#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/console.h"
#include "src/judge/comparison.h"

namespace ptbench {

/// A table for the terminal: differences of the environments and what they mean; remarks; a row a
/// configuration with verdict, both step times, the change and its interval (two rows where one
/// would be too wide), reasons, differences and what of a history was left out below it; what the
/// columns mean; then the remedy where no run was judged, one line that counts the verdicts, and
/// the conclusion.
[[nodiscard]] std::string comparison_console(const Comparison& comparison,
                                             const ConsoleStyle& style);

/// The same as Markdown, for a pull request; runs that stayed the same are folded away.
[[nodiscard]] std::string comparison_markdown(const Comparison& comparison);

/// Schema ptbench.comparison/1: `detect`, `environment_ignored`, `differences` (of the
/// environments, and remarks; texts), `left_out` (of a history, for its environment: `entries`,
/// how many, and `differences`, texts), `counts` (runs by verdict, all verdicts), `tested` (runs of
/// which it was asked whether they changed), `expected_false_alarms` (at most, among those that are
/// slower or faster) and `runs`, each with `id`, `verdict` (same, faster, slower, ambiguous,
/// missing, new, failed, incomparable), `reason`, `base_seconds`, `new_seconds` (of a step),
/// `base_ci95`, `new_ci95` ([low, high], of either side's median step), `statistic` (median or
/// lower_quartile, of each repetition's steps: what `base_seconds`, `new_seconds` and `change` are
/// of), `change` (0.05: 5 % slower), `change_ci99` ([low, high]) with its `interval_level` (0.99;
/// nearer to 1 of pairs in lockstep, where the mean has the same), `mean_change` and
/// `mean_change_ci999` (of the mean step, with a 99.9 % interval), `deciding` (what the verdict
/// rests on and texts show: `statistic`, `base_seconds`, `new_seconds`, `change`, `interval` and
/// its `interval_level`, or `least`, the gap between the sides where no interval decided),
/// `p_value` (1 where no change was found), `base_repetitions`, `new_repetitions` (clean ones),
/// `rounds` (that were compared), `clock_change` (of the cores' clock, as `change`), `in_cycles`
/// (whether times and changes are as they would be at BASE's clock), `decided_by` (window or anchor
/// of a history), `window` and `anchor` (of a history: `entries`, `change`, `change_ci99`),
/// `differences` (of this run, and remarks; texts) and `left_out` (of a history, for this run's
/// circumstances). What is not known, and what does not apply, is null.
[[nodiscard]] std::string comparison_json(const Comparison& comparison);

/// JUnit XML: a test case a configuration; slower, failed and missing are failures, ambiguous and
/// incomparable are skipped.
[[nodiscard]] std::string comparison_junit(const Comparison& comparison);

/// A row a run and placement class, with a line below it where it is unusual, and what its columns
/// mean.
[[nodiscard]] std::string self_check_console(std::span<const SelfCheck> checks,
                                             const ConsoleStyle& style);
/// Schema ptbench.self_check/1: `checks`, each with `id`, `placement`, `repetitions` (clean ones),
/// `groups` (of equal commit, plan, threads and CPU), `degrees_of_freedom`, `standard_deviation`
/// (of the logarithm of what comparisons go by, within groups), `median_deviation` (the same of
/// medians, which is learnt), `unusual` (not learnt), `false_alarm_rate` (null where no group has 6
/// repetitions), `splits`, `resolvable_with_3`, `resolvable_with_5` and `resolvable_with_10` (null
/// where no change is found).
[[nodiscard]] std::string self_check_json(std::span<const SelfCheck> checks);

}  // namespace ptbench
