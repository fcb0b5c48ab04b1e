#include "src/judge/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/judge/ambiguity.h"
#include "src/judge/clock.h"
#include "src/judge/judgement.h"
#include "src/judge/lockstep.h"
#include "src/judge/log_change.h"
#include "src/judge/rounds.h"
#include "src/judge/run_comparer.h"
#include "src/judge/runs_by_id.h"
#include "src/measure/repetition_times.h"

namespace ptbench {
namespace {

/// What slows one host down says nothing of another.
bool are_of_one_host(std::span<const ResultFile> base, std::span<const ResultFile> fresh) {
  if (base.empty()) return false;  // a history begins
  const auto has_same_host = [&](const ResultFile& file) {
    return file.environment.host.name == base.front().environment.host.name;
  };
  return std::ranges::all_of(base, has_same_host) && std::ranges::all_of(fresh, has_same_host);
}

/// From when to when repetitions began; empty where one does not tell.
std::optional<Interval> period_of(std::span<const RepetitionTime> times) {
  std::optional<Interval> period;
  for (const RepetitionTime& time : times) {
    if (!time.started_unix_seconds) return std::nullopt;
    const double start = *time.started_unix_seconds;
    if (!period) period = Interval{.low = start, .high = start};
    period = Interval{.low = std::min(period->low, start), .high = std::max(period->high, start)};
  }
  return period;
}

/// Whether all of one side was measured before all of the other.
bool follow_each_other(std::span<const RepetitionTime> base,
                       std::span<const RepetitionTime> fresh) {
  const std::optional<Interval> one = period_of(base);
  const std::optional<Interval> other = period_of(fresh);
  return one && other && (one->high < other->low || other->high < one->low);
}

/// Whether all of it was computed by CPUs, whose clock slices know.
bool are_of_cpus(const RunGroup& group) {
  return std::ranges::all_of(group.parts(), [](const RunRecord* run) {
    const std::vector<std::string>& devices = run->strategy.devices;
    return run->strategy.hosts.value_or(1) == 1 &&
           std::ranges::all_of(devices, [](const std::string& device) { return device == "cpu"; });
  });
}

Interval interval_of(const LockstepChange& change) {
  return {.low = std::expm1(change.estimate - change.half_width),
          .high = std::expm1(change.estimate + change.half_width)};
}

DecidingChange deciding_change(const LockstepJudgement& judgement) {
  const bool is_of_mean = judgement.decided_by == Statistic::mean;
  const LockstepChange& change = judgement.deciding();
  const double base = is_of_mean ? judgement.base_log_mean : judgement.base_log_time;
  DecidingChange deciding{.statistic = judgement.decided_by,
                          .base_seconds = std::exp(base),
                          .new_seconds = std::exp(base + change.estimate),
                          .change = std::expm1(change.estimate),
                          .level = judgement.level};
  if (judgement.gap)
    deciding.least = std::expm1(std::copysign(*judgement.gap, change.estimate));
  else
    deciding.interval = interval_of(change);
  return deciding;
}

/// Takes over the judgement of pairs of processes in lockstep.
void take(const LockstepJudgement& judgement, RunComparison& result) {
  result.pairs = judgement.pairs;
  result.base_seconds = std::exp(judgement.base_log_time);
  result.new_seconds = std::exp(judgement.base_log_time + judgement.median.estimate);
  result.change = std::expm1(judgement.median.estimate);
  result.change_ci99 = interval_of(judgement.median);
  result.mean_change = std::expm1(judgement.mean.estimate);
  result.mean_change_ci999 = interval_of(judgement.mean);
  result.interval_level = judgement.level;
  result.deciding = deciding_change(judgement);
  result.verdict = judgement.verdict;
  result.reason = judgement.reason;
  result.p_value = judgement.p_value;
}

/// Judges runs by pairs of processes in lockstep where there are such, else by the repetitions of
/// either side.
class RepetitionJudge {
 public:
  /// Options and prior outlive the judge.
  RepetitionJudge(const CompareOptions& options, const PriorNoise& prior, bool one_host)
      : options_(options),
        prior_(prior),
        one_host_(one_host),
        typical_change_(prior),
        whole_change_(prior, kMeanRule) {}

  void operator()(const RunGroup& base, const RunGroup& fresh, RunComparison& result) {
    const SamplesRecord& base_samples = base.run().samples;
    const SamplesRecord& new_samples = fresh.run().samples;
    if (const auto judgement = judge_lockstep(base_samples, new_samples, options_.detect, prior_)) {
      take(*judgement, result);
      return;
    }
    const auto step = change_of(base_samples, new_samples);
    if (!step) {
      result.verdict = Verdict::ambiguous;
      result.reason = why_too_few({base_samples, clean_log_times(base_samples)},
                                  {new_samples, clean_log_times(new_samples)});
      return;
    }
    describe_change(*step, result);
    Judgement judgement = judge_step(*step, options_.detect);
    result.deciding = deciding_change(*step, judgement);
    if (one_host_ && !options_.ignore_environment && are_of_cpus(base) && are_of_cpus(fresh))
      if (const auto clock = clock_evidence(base_samples, new_samples))
        judgement = at_one_clock(*clock, base_samples, new_samples, judgement, result);
    result.verdict = judgement.verdict;
    result.reason = judgement.reason;
    result.p_value = judgement.p_value;
  }

 private:
  /// The judgement where the clock of the cores may have changed between the sides: of `by_time`,
  /// or of cycles. Writes the figures of that one.
  [[nodiscard]] Judgement at_one_clock(const ClockEvidence& clock, const SamplesRecord& base,
                                       const SamplesRecord& fresh, Judgement by_time,
                                       RunComparison& result) {
    result.clock_change = std::expm1(clock.change);
    if (!clock.follows && clock.ignores) return by_time;
    auto step = change_of(base, fresh, mean_log_hertz(median_times(base)));
    if (clock.follows) {
      const double unexplained = clock.unexplained * std::abs(clock.change);
      add_deviation(unexplained, step->typical);
      if (step->whole) add_deviation(unexplained, *step->whole);
    }
    Judgement by_cycles = judge_step(*step, options_.detect);
    if (clock.follows) {
      describe_change(*step, result);
      result.deciding = deciding_change(*step, by_cycles);
      result.in_cycles = true;
      const bool differs = by_time.verdict == Verdict::slower || by_time.verdict == Verdict::faster;
      if (by_cycles.verdict == Verdict::same && differs)
        by_cycles.reason = why_same_in_cycles(clock.change, by_time.verdict);
      return by_cycles;
    }
    by_time.p_value = std::max(by_time.p_value, by_cycles.p_value);
    const bool is_open = by_time.verdict == Verdict::ambiguous;  // for a reason of its own
    if (is_open || by_cycles.verdict == by_time.verdict) return by_time;
    return {.reason = why_clock(clock.change, by_time.verdict, by_cycles.verdict)};
  }

  /// How the step changes; at a clock of `log_hertz`, if there is one. Empty where there are too
  /// few repetitions.
  [[nodiscard]] std::optional<StepChange> change_of(const SamplesRecord& base,
                                                    const SamplesRecord& fresh,
                                                    std::optional<double> log_hertz = {}) {
    const ComparedBy by = compared_by(std::array{&base, &fresh});
    const auto change = [&](Statistic statistic, ChangeEstimator& estimate) {
      std::vector<RepetitionTime> base_times = times_of(base, statistic);
      std::vector<RepetitionTime> new_times = times_of(fresh, statistic);
      if (log_hertz) base_times = at_clock(std::move(base_times), *log_hertz);
      if (log_hertz) new_times = at_clock(std::move(new_times), *log_hertz);
      return change_of(base_times, new_times, estimate);
    };
    const auto typical = change(by.typical, typical_change_);
    if (!typical) return {};
    StepChange step{.by = by, .typical = *typical};
    if (by.whole) step.whole = change(*by.whole, whole_change_);
    return step;
  }

  [[nodiscard]] std::optional<LogChange> change_of(std::span<const RepetitionTime> base_times,
                                                   std::span<const RepetitionTime> new_times,
                                                   ChangeEstimator& estimate) const {
    const std::vector<Round> rounds =
        one_host_ ? rounds_of(base_times, new_times) : std::vector<Round>();
    auto change = estimate(by_class(base_times), by_class(new_times), rounds);
    if (change && change->rounds == 0 && follow_each_other(base_times, new_times))
      add_deviation(change->usual, *change);
    return change;
  }

  const CompareOptions& options_;
  const PriorNoise& prior_;
  bool one_host_;  ///< whether both sides were measured on one
  ChangeEstimator typical_change_;
  ChangeEstimator whole_change_;
};

/// Whether a run is in both files, measured or not.
bool is_common(const RunComparison& run) {
  if (run.verdict == Verdict::added) return false;
  return run.verdict != Verdict::missing || !run.reason.empty();
}

}  // namespace

std::string_view name_of(Reference reference) {
  return reference == Reference::window ? "window" : "anchor";
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

bool is_change(Verdict verdict) { return verdict == Verdict::slower || verdict == Verdict::faster; }

bool is_undecided(Verdict verdict) {
  return verdict == Verdict::ambiguous || verdict == Verdict::incomparable;
}

bool is_judgement(Verdict verdict) {
  return verdict != Verdict::missing && verdict != Verdict::added &&
         verdict != Verdict::incomparable;
}

std::optional<DecidingChange> shown_change(const RunComparison& run) {
  if (run.deciding) return run.deciding;
  if (!run.change) return {};
  return DecidingChange{.statistic = run.statistic,
                        .base_seconds = run.base_seconds,
                        .new_seconds = run.new_seconds,
                        .change = *run.change,
                        .interval = run.change_ci99,
                        .level = run.interval_level};
}

bool is_nothing_judged(const Comparison& comparison) {
  return !comparison.runs.empty() &&
         std::ranges::none_of(comparison.runs, is_judgement, &RunComparison::verdict);
}

Comparison compare(std::span<const ResultFile> base, std::span<const ResultFile> fresh,
                   const CompareOptions& options, const PriorNoise& prior) {
  RepetitionJudge judge(options, prior, are_of_one_host(base, fresh));
  return compare_runs(base, fresh, options, prior, judge);
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
