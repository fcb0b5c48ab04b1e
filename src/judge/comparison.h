#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/exit_code.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"
#include "src/measure/repetition_times.h"

namespace ptbench {

/// What a comparison says of one configuration.
enum class Verdict {
  same,
  faster,
  slower,
  ambiguous,     ///< neither can be said; the reason tells why
  missing,       ///< measured in BASE, absent in NEW, or not measured there for some reason
  added,         ///< "new": absent in BASE, or not measured there for some reason
  failed,        ///< in NEW
  incomparable,  ///< other work, or measured in unlike environments
};
[[nodiscard]] std::string_view name_of(Verdict verdict);
/// Whether it fails a gate: slower, failed or missing.
[[nodiscard]] bool is_regression(Verdict verdict);
/// Whether it is slower or faster.
[[nodiscard]] bool is_change(Verdict verdict);
/// Whether nothing can be said: ambiguous or incomparable.
[[nodiscard]] bool is_undecided(Verdict verdict);
/// Whether it says anything of how NEW did: not missing, new or incomparable.
[[nodiscard]] bool is_judgement(Verdict verdict);

/// Which part of a history decided a verdict.
enum class Reference {
  window,  ///< the last entries
  anchor,  ///< the first ones, which stay: slow creep leaves them behind
};
[[nodiscard]] std::string_view name_of(Reference reference);

/// What NEW is against a part of a history.
struct ReferenceChange {
  Size entries = 0;
  double change = 0;  ///< of the step time, as in `RunComparison`
  Interval interval;  ///< of it, see `compare_with_history`
};

/// What of a history is no part of BASE, since it was measured in other circumstances than the
/// newest entry.
struct LeftOut {
  Size entries = 0;
  std::vector<std::string> differences;  ///< "plan a1 / b2", of an entry and the newest; each once
};

/// The change that a verdict rests on, by one statistic: what is shown of a run. The others are in
/// its record.
struct DecidingChange {
  Statistic statistic = Statistic::median;
  std::optional<double> base_seconds = std::nullopt;  ///< of a step, by that statistic
  std::optional<double> new_seconds = std::nullopt;
  double change = 0;  ///< of the step time: 0.05 is 5 % slower
  std::optional<Interval> interval = std::nullopt;
  double level = 0.99;  ///< of the interval
  /// Where no interval decided, but that all of one side is slower than all of the other: by how
  /// much at least, with the sign of the change. The interval is empty then.
  std::optional<double> least = std::nullopt;
};

struct RunComparison {
  std::string id;
  Verdict verdict = Verdict::ambiguous;
  std::string reason;  ///< why; empty where the verdict says it all
  /// The time of either side: `statistic` in the placement class that weighs most in `change`, else
  /// step_seconds.median.
  std::optional<double> base_seconds;
  std::optional<double> new_seconds;
  std::optional<Interval> base_ci95;  ///< step_seconds.ci95 of either side, pooled: of the median
  std::optional<Interval> new_ci95;
  std::optional<double> change;         ///< of the step time: 0.05 is 5 % slower
  std::optional<Interval> change_ci99;  ///< interval of it, of `interval_level`
  double interval_level = 0.99;         ///< of pairs in lockstep higher, and the mean's too
  Statistic statistic = Statistic::median;
  /// The change of the mean step, which slow steps are part of, with its 99.9 % interval; empty
  /// where a repetition does not know its mean.
  std::optional<double> mean_change = std::nullopt;
  std::optional<Interval> mean_change_ci999 = std::nullopt;
  /// Empty where nothing was judged.
  std::optional<DecidingChange> deciding = std::nullopt;
  /// How often equal programs are called different so clearly; 1 where they were not. Empty where
  /// nothing was tested. See `control_false_discoveries`.
  std::optional<double> p_value = std::nullopt;
  std::optional<Reference> decided_by = std::nullopt;    ///< with a history; `change` is against it
  std::optional<ReferenceChange> window = std::nullopt;  ///< with a history
  std::optional<ReferenceChange> anchor = std::nullopt;  ///< empty while a history is too short
  Size base_repetitions = 0;                             ///< clean ones
  Size new_repetitions = 0;
  Size rounds = 0;  ///< whose differences `change` is the mean of; 0: it is a difference of means
  Size pairs = 0;   ///< of processes in lockstep, which decided; 0: repetitions did
  /// Of the clock of the cores, as `change`; empty where it is not known.
  std::optional<double> clock_change = std::nullopt;
  bool in_cycles = false;                ///< changes and times are as they would be at BASE's clock
  std::vector<std::string> differences;  ///< of this run's work and circumstances: "plan a1 / b2"
  std::vector<std::string> remarks;      ///< that take no verdict away: "slowdown none / 5.00 %"
  std::optional<LeftOut> left_out;       ///< entries that differ in this run's circumstances
};

struct CompareOptions {
  double detect = 0.05;             ///< the smallest change that matters
  bool ignore_environment = false;  ///< verdicts all the same; other work gets none
};

struct Comparison {
  double detect = 0.05;
  std::vector<std::string> differences;  ///< of the environments: "cpu.model A / B"
  std::vector<std::string> remarks;  ///< that take no verdict away: "build_type Release / Debug"
  bool environment_ignored = false;
  std::optional<LeftOut> left_out;   ///< entries of a history whose environments differ
  std::vector<RunComparison> runs;   ///< in BASE's order, then what is new
  Size tested = 0;                   ///< runs that were tested for a change
  double expected_false_alarms = 0;  ///< at most, among those that are slower or faster
};

/// What to show of a run: its `deciding` change, else the change of the typical step; empty where
/// no change is known.
[[nodiscard]] std::optional<DecidingChange> shown_change(const RunComparison& run);

/// Whether there are runs, and none of them has a judgement: an exit code of 0 says nothing then.
[[nodiscard]] bool is_nothing_judged(const Comparison& comparison);

/// Compares runs of equal id; several files of a side are pooled by repetition. A file in which a
/// run failed or was not measured takes nothing from BASE; in NEW, one that failed decides.
/// Placement classes are matched, each weighing by how much it knows. Files are not changed, nor
/// need to outlive the comparison. Runs that were measured on neither side are left out, unless
/// they failed in NEW.
///
/// Per class with at least 2 clean repetitions on both sides, together at least 3 a side: e =
/// difference of the means of logarithms, with the 99 % interval e ± t·s·√(1/n + 1/m); classes are
/// combined by inverse variance. Where the sides were measured in turn on one host (see
/// `rounds_of`), at least 3 rounds tell e as the mean of their differences, with e ± t·s·√(1/n) of
/// these; `ChangeEstimator` says which of the two is taken.
///
/// Where all of one side was measured before the other, and rounds do not tell e, it deviates by s0
/// besides.
///
/// Where the clock of the cores wanders, steps that follow it are compared by cycles instead of
/// seconds (`clock_evidence`).
///
/// This is done for the typical step (the lower quartile, else the median) and, at 99.9 %, for the
/// mean step. `judge_step` says what verdict follows, `control_false_discoveries` which of many
/// stand.
[[nodiscard]] Comparison compare(std::span<const ResultFile> base,
                                 std::span<const ResultFile> fresh, const CompareOptions& options,
                                 const PriorNoise& prior);

/// 0; 3 for a regression, a failed or a missing run; with `strict` 4 where a verdict is ambiguous
/// or was not given. 1 where no run is in both (a run that failed in NEW counts as in both).
[[nodiscard]] ExitCode exit_code_of(const Comparison& comparison, bool strict);

/// What a machine can tell apart, from repetitions of one configuration.
struct SelfCheck {
  std::string id;
  std::string placement;
  Size repetitions = 0;           ///< clean ones
  Size groups = 1;                ///< of equal circumstances, which the repetitions are in
  Size degrees_of_freedom = 0;    ///< of the deviation: repetitions less groups
  double standard_deviation = 0;  ///< run to run, of the logarithms that comparisons go by
  double median_deviation = 0;    ///< the same of medians, which a run's own interval goes by
  bool unusual = false;           ///< the first is beyond 3 × `PriorNoise::kUnlearnt`
  /// Share of halves of a group that differ from each other by their means; from 6 on.
  std::optional<double> false_alarm_rate;
  Size splits = 0;               ///< how many were tried
  double resolvable_with_3 = 0;  ///< smallest change found in 95 of 100 comparisons with
  double resolvable_with_5 = 0;  ///< so many clean repetitions a side, `detect` set to it; infinite
                                 ///< where none is: the spread is unusual, or it is above 100 %
  double resolvable_with_10 = 0;
};

/// One for each run and class with at least 3 clean repetitions of equal circumstances: commit of
/// the program, plan, threads and model of the CPU. Each such set is a group with a mean of its
/// own, be it of one file or of many. Runs that were slowed on purpose, failed or were skipped are
/// left out. Halves of an odd number differ by one repetition; where there are over 2000 ways to
/// choose the first half of a group, 2000 are drawn, always the same.
[[nodiscard]] std::vector<SelfCheck> self_check(std::span<const ResultFile> files,
                                                const CompareOptions& options,
                                                const PriorNoise& prior);

/// What these repetitions teach: per class, s of medians pooled over runs by degrees of freedom.
/// `kUnlearnt` counts as 10, so that a few lucky repetitions do not make a quiet machine. What was
/// learnt before has no part in it, so that nothing is counted twice. Checks where either
/// deviation is beyond 3 × `kUnlearnt` teach nothing.
[[nodiscard]] PriorNoise learn(std::span<const SelfCheck> checks);

}  // namespace ptbench
