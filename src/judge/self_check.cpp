#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/judge/comparison.h"
#include "src/judge/log_change.h"
#include "src/judge/runs_by_id.h"
#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr Size kMostSplits = 2000;
constexpr std::uint64_t kSeed = 20;
/// A change of so many standard errors is twice half the width of the 99 % interval (2.576): few
/// comparisons miss it, fewer than 5 of 100 even where the noise is known from little.
constexpr double kResolvableErrors = 5.15;

/// For each repetition, 1 where it belongs to the first half, else 0.
using Split = std::vector<char>;

Split first_split(std::size_t count) {
  Split split(count, 0);
  std::fill_n(split.begin(), count / 2, 1);
  return split;
}

/// Ways to choose the first half, at most one more than `kMostSplits`.
Size count_splits(std::size_t count) {
  Size splits = 1;
  for (std::size_t chosen = 0; chosen < count / 2 && splits <= kMostSplits; ++chosen)
    splits = splits * static_cast<Size>(count - chosen) / static_cast<Size>(chosen + 1);
  return splits;
}

/// Fisher-Yates. Not std::shuffle, whose result depends on the library.
void shuffle(Split& split, std::mt19937_64& random) {
  for (std::size_t left = split.size(); left > 1; --left) {
    const std::size_t other = random() % left;  // its bias is below left / 2^64
    std::swap(split[left - 1], split[other]);
  }
}

/// Tells whether halves that differ by nothing but noise are called different.
class FalseAlarms {
 public:
  /// `prior` outlives it.
  FalseAlarms(std::string placement, double detect, const PriorNoise& prior)
      : placement_(std::move(placement)), detect_(detect), estimate_(prior) {}

  /// `split` parts `times`.
  void count(std::span<const double> times, const Split& split) {
    LogTimes base;
    LogTimes fresh;
    for (std::size_t index = 0; index < times.size(); ++index)
      (split[index] != 0 ? base : fresh)[placement_].push_back(times[index]);
    ++splits_;
    const Verdict verdict = verdict_of(estimate_(base, fresh).value(), detect_);
    if (verdict == Verdict::slower || verdict == Verdict::faster) ++alarms_;
  }

  [[nodiscard]] Size splits() const { return splits_; }
  [[nodiscard]] double rate() const {
    return static_cast<double>(alarms_) / static_cast<double>(splits_);
  }

 private:
  std::string placement_;
  double detect_;
  ChangeEstimator estimate_;
  Size splits_ = 0;
  Size alarms_ = 0;
};

void count_all_splits(std::span<const double> times, FalseAlarms& alarms) {
  Split split = first_split(times.size());
  do alarms.count(times, split);
  while (std::ranges::prev_permutation(split).found);
}

void count_random_splits(std::span<const double> times, FalseAlarms& alarms) {
  std::mt19937_64 random(kSeed);
  Split split = first_split(times.size());
  for (Size index = 0; index < kMostSplits; ++index) {
    shuffle(split, random);
    alarms.count(times, split);
  }
}

/// Counts the splits of one group; none where its halves are too small to be compared.
void count_splits_of(std::span<const double> times, FalseAlarms& alarms) {
  if (std::ssize(times) < 2 * kLeastRepetitions) return;
  if (count_splits(times.size()) <= kMostSplits)
    count_all_splits(times, alarms);
  else
    count_random_splits(times, alarms);
}

/// Infinite where none is: `detect` ends at 100 %.
double resolvable_with(Size repetitions, double standard_deviation) {
  const double change =
      kResolvableErrors * standard_deviation * std::sqrt(2 / static_cast<double>(repetitions));
  return change <= 1 ? change : std::numeric_limits<double>::infinity();
}

/// Standard deviation of values about their group's own mean.
double deviation_within(std::span<const std::vector<double>> groups) {
  double squares = 0;
  double degrees = 0;
  for (const std::vector<double>& group : groups) {
    const double deviation = standard_deviation(group).value();
    const auto more = static_cast<double>(group.size() - 1);
    squares += more * deviation * deviation;
    degrees += more;
  }
  return std::sqrt(squares / degrees);
}

/// Groups of at least `kLeastRepetitions` logarithms each, at least one.
using Groups = std::vector<std::vector<double>>;

SelfCheck check_class(const std::string& placement, const Groups& groups, const Groups& medians,
                      const CompareOptions& options, const PriorNoise& prior) {
  SelfCheck check;
  check.placement = placement;
  check.groups = std::ssize(groups);
  for (const std::vector<double>& group : groups) check.repetitions += std::ssize(group);
  check.degrees_of_freedom = check.repetitions - check.groups;
  check.standard_deviation = deviation_within(groups);
  check.median_deviation = deviation_within(medians);
  check.unusual = spread_of(groups, PriorNoise::kUnlearnt).unusual;
  // No interval is believed among unusual spreads, however large the change.
  const double expected = check.unusual ? std::numeric_limits<double>::infinity()
                                        : spread_of(groups, prior.of(placement)).standard_deviation;
  check.resolvable_with_3 = resolvable_with(3, expected);
  check.resolvable_with_5 = resolvable_with(5, expected);
  check.resolvable_with_10 = resolvable_with(10, expected);
  FalseAlarms alarms(placement, options.detect, prior);
  for (const std::vector<double>& group : groups) count_splits_of(group, alarms);
  check.splits = alarms.splits();
  if (check.splits > 0) check.false_alarm_rate = alarms.rate();
  return check;
}

/// What repetitions have in common that differ by nothing but noise.
struct MeasuredUnder {
  std::optional<std::string> commit;
  std::optional<std::string> plan;
  std::optional<Size> threads;
  std::optional<std::string> cpu;
  Statistic statistic = Statistic::median;

  friend auto operator<=>(const MeasuredUnder&, const MeasuredUnder&) = default;
};

bool is_eligible(const RunRecord& run) {
  return was_measured(run) && run.samples.slowdown.value_or(0) <= 0;
}

/// A run's repetitions, apart by circumstances and placement.
struct RunTimes {
  std::map<MeasuredUnder, LogTimes> compared;
  std::map<MeasuredUnder, LogTimes> medians;  ///< of the same repetitions
};

void add_times(const ResultFile& file, const RunRecord& run, RunTimes& times) {
  const auto quartiles = quartile_times(run.samples);
  const std::vector<RepetitionTime> medians = median_times(run.samples);
  const MeasuredUnder circumstances{
      .commit = file.generator.git_commit,
      .plan = run.strategy.plan_hash,
      .threads = run.strategy.threads,
      .cpu = file.environment.cpu.model,
      .statistic = quartiles ? Statistic::lower_quartile : Statistic::median};
  append(by_class(quartiles ? *quartiles : medians), times.compared[circumstances]);
  append(by_class(medians), times.medians[circumstances]);
}

/// By placement; what is too little to know a spread is left out.
std::map<std::string, Groups> groups_of(const std::map<MeasuredUnder, LogTimes>& times) {
  std::map<std::string, Groups> groups;
  for (const auto& [circumstances, classes] : times)
    for (const auto& [placement, values] : classes)
      if (std::ssize(values) >= kLeastRepetitions) groups[placement].push_back(values);
  return groups;
}

}  // namespace

std::vector<SelfCheck> self_check(std::span<const ResultFile> files, const CompareOptions& options,
                                  const PriorNoise& prior) {
  std::vector<std::string> ids;
  std::map<std::string, RunTimes> runs;
  for (const ResultFile& file : files)
    for (const RunRecord& run : file.runs) {
      if (!is_eligible(run)) continue;
      const auto [found, is_new] = runs.try_emplace(run.id);
      if (is_new) ids.push_back(run.id);
      add_times(file, run, found->second);
    }
  std::vector<SelfCheck> checks;
  for (const std::string& id : ids) {
    const RunTimes& times = runs.at(id);
    const std::map<std::string, Groups> medians = groups_of(times.medians);
    for (const auto& [placement, groups] : groups_of(times.compared)) {
      checks.push_back(check_class(placement, groups, medians.at(placement), options, prior));
      checks.back().id = id;
    }
  }
  return checks;
}

PriorNoise learn(std::span<const SelfCheck> checks) {
  constexpr double kUnlearntDegrees = 10;
  constexpr double kMostLearnt = kUnusualSpread * PriorNoise::kUnlearnt;
  PriorNoise learnt;
  for (const SelfCheck& check : checks) {
    if (check.unusual || check.median_deviation > kMostLearnt) continue;
    const auto known = learnt.classes().find(check.placement);
    const Size before = known == learnt.classes().end() ? 0 : known->second.degrees_of_freedom;
    const double usual = learnt.of(check.placement);
    const double weight = kUnlearntDegrees + static_cast<double>(before);
    const auto more = static_cast<double>(check.degrees_of_freedom);
    const double variance =
        (weight * usual * usual + more * check.median_deviation * check.median_deviation) /
        (weight + more);
    learnt.learn(check.placement, {.standard_deviation = std::sqrt(variance),
                                   .degrees_of_freedom = before + check.degrees_of_freedom});
  }
  return learnt;
}

}  // namespace ptbench
