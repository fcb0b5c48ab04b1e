#include "src/measure/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/error.h"
#include "src/measure/ambiguity.h"
#include "src/measure/environment_differences.h"
#include "src/measure/lockstep.h"
#include "src/measure/log_change.h"
#include "src/measure/repetition_times.h"
#include "src/measure/runs_by_id.h"
#include "src/measure/spread.h"
#include "src/measure/text.h"

namespace ptbench {
namespace {

Size clean_repetitions(const LogTimes& times) {
  Size count = 0;
  for (const auto& [placement, values] : times) count += std::ssize(values);
  return count;
}

std::span<const RunRecord* const> parts_of(const RunGroup* group) {
  return group == nullptr ? std::span<const RunRecord* const>() : group->parts();
}

/// "skipped in NEW: 3 ranks on 2 cores", of a run that was not measured there.
std::string why_unmeasured(std::string_view side, const RunRecord& run) {
  const bool did_end = run.status != Status::ok;
  std::string text = did_end ? fmt::format("{} in {}", name_of(run.status), side)
                             : fmt::format("{} has no samples", side);
  if (run.reason) text += ": " + single_line(*run.reason);
  return text;
}

/// "unlike environments: cpu.model A / B and 2 more".
std::string why_incomparable(std::string_view what, const std::vector<std::string>& differences) {
  const std::size_t more = differences.size() - 1;
  return fmt::format("{}: {}", what, differences.front()) +
         (more == 0 ? std::string() : fmt::format(" and {} more", more));
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Compares the runs of one pair of sides.
class RunComparer {
 public:
  /// Everything outlives the comparer.
  RunComparer(const CompareOptions& options, const PriorNoise& prior,
              const std::vector<std::string>& environment, bool one_host)
      : options_(options),
        prior_(prior),
        environment_(environment),
        one_host_(one_host),
        estimate_(prior) {}

  /// Empty where there is nothing to say: measured on neither side, nor failed in NEW. One of the
  /// two may be null.
  std::optional<RunComparison> operator()(const RunGroup* base, const RunGroup* fresh) {
    const bool of_base = base != nullptr && was_measured(base->run());
    const bool of_new = fresh != nullptr && was_measured(fresh->run());
    RunComparison result;
    result.id = (base != nullptr ? base : fresh)->run().id;
    if (of_base) describe(base->run(), result.base_seconds, result.base_repetitions);
    if (of_base) result.base_ci95 = base->run().step_seconds.ci95;
    if (of_new) describe(fresh->run(), result.new_seconds, result.new_repetitions);
    if (of_new) result.new_ci95 = fresh->run().step_seconds.ci95;
    result.remarks = run_remarks(parts_of(base), parts_of(fresh));
    if (fresh != nullptr && fresh->run().status == Status::failed) {
      result.verdict = Verdict::failed;
      result.reason = single_line(fresh->run().reason.value_or(""));
    } else if (of_base && of_new) {
      compare_measured(*base, *fresh, result);
    } else if (of_base) {
      result.verdict = Verdict::missing;
      if (fresh != nullptr) result.reason = why_unmeasured("NEW", fresh->run());
    } else if (of_new) {
      result.verdict = Verdict::added;
      if (base != nullptr) result.reason = why_unmeasured("BASE", base->run());
    } else {
      return {};
    }
    return result;
  }

 private:
  static void describe(const RunRecord& run, std::optional<double>& seconds, Size& repetitions) {
    seconds = run.step_seconds.median;
    repetitions = clean_repetitions(clean_log_times(run.samples));
  }

  void compare_measured(const RunGroup& base, const RunGroup& fresh, RunComparison& result) {
    const std::vector<std::string> work = work_differences(base.parts(), fresh.parts());
    const std::vector<std::string> circumstances = run_differences(base.parts(), fresh.parts());
    result.differences = joined(work, circumstances);
    if (!work.empty()) {
      result.verdict = Verdict::incomparable;
      result.reason = why_incomparable("other work", work);
      return;
    }
    judge(base.run().samples, fresh.run().samples, result);
    const std::vector<std::string> unlike = joined(environment_, circumstances);
    if (unlike.empty() || options_.ignore_environment) return;
    result.verdict = Verdict::incomparable;
    result.reason = why_incomparable("unlike environments", unlike);
  }

  std::optional<LogChange> change_of(std::span<const RepetitionTime> base,
                                     std::span<const RepetitionTime> fresh) {
    const std::vector<Round> rounds = one_host_ ? rounds_of(base, fresh) : std::vector<Round>();
    return estimate_(by_class(base), by_class(fresh), rounds);
  }

  /// What took turns on one machine needs no further proof.
  void take(const LockstepJudgement& judgement, RunComparison& result) const {
    const LockstepChange& change = judgement.median;
    result.pairs = judgement.pairs;
    result.base_seconds = std::exp(judgement.base_log_time);
    result.new_seconds = std::exp(judgement.base_log_time + change.estimate);
    result.change = std::expm1(change.estimate);
    result.change_ci99 = {.low = std::expm1(change.estimate - change.half_width),
                          .high = std::expm1(change.estimate + change.half_width)};
    result.verdict = judgement.verdict;
    result.reason = judgement.reason;
  }

  void judge(const SamplesRecord& base, const SamplesRecord& fresh, RunComparison& result) {
    const LockstepRule rule{.detect = options_.detect, .max_pairs = options_.max_pairs};
    if (const auto judgement = judge_lockstep(base, fresh, rule, prior_)) {
      take(*judgement, result);
      return;
    }
    const std::vector<RepetitionTime> base_medians = median_times(base);
    const std::vector<RepetitionTime> new_medians = median_times(fresh);
    const auto of_medians = change_of(base_medians, new_medians);
    if (!of_medians) {
      result.verdict = Verdict::ambiguous;
      result.reason = why_too_few({base, by_class(base_medians)}, {fresh, by_class(new_medians)});
      return;
    }
    const auto base_quartiles = quartile_times(base);
    const auto new_quartiles = quartile_times(fresh);
    if (!base_quartiles || !new_quartiles) {
      take(*of_medians, result);
      return;
    }
    result.statistic = Statistic::lower_quartile;
    take(change_of(*base_quartiles, *new_quartiles).value(), result);
    doubt_if_medians_disagree(*of_medians, result);
  }

  /// What slows some of the steps leaves the quickest alone. However much medians scatter, they are
  /// not called the same where their interval leaves out 0, nor the opposite of what they are.
  void doubt_if_medians_disagree(const LogChange& of_medians, RunComparison& result) const {
    const double change = of_medians.estimate;
    if (std::abs(change) <= std::max(options_.detect / 2, of_medians.half_width)) return;
    const bool slower = change > 0;
    if (result.verdict == Verdict::ambiguous ||
        result.verdict == (slower ? Verdict::slower : Verdict::faster))
      return;
    result.verdict = Verdict::ambiguous;
    result.reason = fmt::format(
        "the median step is {:.2g} % {}, but the quickest quarter of the steps is not: "
        "see the percentiles",
        100 * std::abs(std::expm1(change)), slower ? "slower" : "faster");
  }

  void take(const LogChange& change, RunComparison& result) const {
    result.rounds = change.rounds;
    result.base_seconds = std::exp(change.base_log_time);
    result.new_seconds = std::exp(change.new_log_time);
    result.change = std::expm1(change.estimate);
    result.change_ci99 = {.low = std::expm1(change.estimate - change.half_width),
                          .high = std::expm1(change.estimate + change.half_width)};
    result.verdict = verdict_of(change, options_.detect);
    if (result.verdict == Verdict::ambiguous)
      result.reason = why_ambiguous(change, options_.detect);
  }

  const CompareOptions& options_;
  const PriorNoise& prior_;
  const std::vector<std::string>& environment_;  ///< differences
  bool one_host_;                                ///< whether both sides were measured on one
  ChangeEstimator estimate_;
};

/// What slows one host down says nothing of another.
bool are_of_one_host(std::span<const ResultFile> base, std::span<const ResultFile> fresh) {
  if (base.empty()) return false;  // a history begins
  const auto has_same_host = [&](const ResultFile& file) {
    return file.environment.host.name == base.front().environment.host.name;
  };
  return std::ranges::all_of(base, has_same_host) && std::ranges::all_of(fresh, has_same_host);
}

/// Whether a run is in both files, measured or not.
bool is_common(const RunComparison& run) {
  if (run.verdict == Verdict::added) return false;
  return run.verdict != Verdict::missing || !run.reason.empty();
}

}  // namespace

std::string_view name_of(Statistic statistic) {
  return statistic == Statistic::median ? "median" : "lower_quartile";
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return "same";
    case Verdict::faster: return "faster";
    case Verdict::slower: return "slower";
    case Verdict::ambiguous: return "ambiguous";
    case Verdict::missing: return "missing";
    case Verdict::added: return "new";
    case Verdict::failed: return "failed";
    case Verdict::incomparable: return "incomparable";
  }
  throw Defect("a verdict without a name");
}

bool is_regression(Verdict verdict) {
  return verdict == Verdict::slower || verdict == Verdict::failed || verdict == Verdict::missing;
}

bool is_undecided(Verdict verdict) {
  return verdict == Verdict::ambiguous || verdict == Verdict::incomparable;
}

bool is_judgement(Verdict verdict) {
  return verdict != Verdict::missing && verdict != Verdict::added &&
         verdict != Verdict::incomparable;
}

bool is_nothing_judged(const Comparison& comparison) {
  return !comparison.runs.empty() &&
         std::ranges::none_of(comparison.runs, is_judgement, &RunComparison::verdict);
}

Comparison compare(std::span<const ResultFile> base, std::span<const ResultFile> fresh,
                   const CompareOptions& options, const PriorNoise& prior) {
  Comparison comparison;
  comparison.detect = options.detect;
  comparison.environment_ignored = options.ignore_environment;
  comparison.differences = environment_differences(base, fresh);
  comparison.remarks = build_remarks(base, fresh);

  const RunsById base_runs(base, prior, Parts::measured);
  const RunsById new_runs(fresh, prior);
  RunComparer compare_runs(options, prior, comparison.differences, are_of_one_host(base, fresh));
  const auto add = [&](std::optional<RunComparison> run) {
    if (run) comparison.runs.push_back(std::move(*run));
  };
  for (const RunGroup& group : base_runs.groups())
    add(compare_runs(&group, new_runs.find(group.run().id)));
  for (const RunGroup& group : new_runs.groups())
    if (base_runs.find(group.run().id) == nullptr) add(compare_runs(nullptr, &group));
  return comparison;
}

ExitCode exit_code_of(const Comparison& comparison, bool strict) {
  if (std::ranges::none_of(comparison.runs, is_common)) return ExitCode::usage;
  if (std::ranges::any_of(comparison.runs, is_regression, &RunComparison::verdict))
    return ExitCode::regression;
  if (strict && std::ranges::any_of(comparison.runs, is_undecided, &RunComparison::verdict))
    return ExitCode::ambiguous;
  return ExitCode::ok;
}

}  // namespace ptbench
