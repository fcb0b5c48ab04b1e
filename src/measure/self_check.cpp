#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "src/measure/comparison.h"
#include "src/measure/log_change.h"
#include "src/measure/runs_by_id.h"
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
  FalseAlarms(std::string placement, const std::vector<double>& times, double detect,
              const PriorNoise& prior)
      : placement_(std::move(placement)), times_(times), detect_(detect), estimate_(prior) {}

  void count(const Split& split) {
    LogTimes base;
    LogTimes fresh;
    for (std::size_t index = 0; index < times_.size(); ++index)
      (split[index] != 0 ? base : fresh)[placement_].push_back(times_[index]);
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
  const std::vector<double>& times_;
  double detect_;
  ChangeEstimator estimate_;
  Size splits_ = 0;
  Size alarms_ = 0;
};

void count_all_splits(std::size_t repetitions, FalseAlarms& alarms) {
  Split split = first_split(repetitions);
  do alarms.count(split);
  while (std::ranges::prev_permutation(split).found);
}

void count_random_splits(std::size_t repetitions, FalseAlarms& alarms) {
  std::mt19937_64 random(kSeed);
  Split split = first_split(repetitions);
  for (Size index = 0; index < kMostSplits; ++index) {
    shuffle(split, random);
    alarms.count(split);
  }
}

double resolvable_with(Size repetitions, double standard_deviation) {
  return kResolvableErrors * standard_deviation * std::sqrt(2 / static_cast<double>(repetitions));
}

SelfCheck check_class(const std::string& placement, const std::vector<double>& times,
                      const CompareOptions& options, const PriorNoise& prior) {
  SelfCheck check;
  check.placement = placement;
  check.repetitions = std::ssize(times);
  check.standard_deviation = standard_deviation(times).value();
  const double expected = spread_of({&times, 1}, prior.of(placement)).standard_deviation;
  check.resolvable_with_3 = resolvable_with(3, expected);
  check.resolvable_with_5 = resolvable_with(5, expected);
  check.resolvable_with_10 = resolvable_with(10, expected);
  if (check.repetitions < 2 * kLeastRepetitions) return check;
  FalseAlarms alarms(placement, times, options.detect, prior);
  if (count_splits(times.size()) <= kMostSplits)
    count_all_splits(times.size(), alarms);
  else
    count_random_splits(times.size(), alarms);
  check.false_alarm_rate = alarms.rate();
  check.splits = alarms.splits();
  return check;
}

}  // namespace

std::vector<SelfCheck> self_check(std::span<const ResultFile> files, const CompareOptions& options,
                                  const PriorNoise& prior) {
  std::vector<SelfCheck> checks;
  const RunsById runs(files, prior);
  for (const RunGroup& group : runs.groups())
    for (const auto& [placement, times] : clean_log_times(group.run().samples)) {
      if (std::ssize(times) < kLeastRepetitions) continue;
      checks.push_back(check_class(placement, times, options, prior));
      checks.back().id = group.run().id;
    }
  return checks;
}

PriorNoise learn(const PriorNoise& prior, std::span<const SelfCheck> checks) {
  constexpr double kUnlearntDegrees = 10;
  PriorNoise learnt = prior;
  for (const SelfCheck& check : checks) {
    const auto known = learnt.classes().find(check.placement);
    const Size before = known == learnt.classes().end() ? 0 : known->second.degrees_of_freedom;
    const double usual = learnt.of(check.placement);
    const Size more = check.repetitions - 1;
    const double weight = kUnlearntDegrees + static_cast<double>(before);
    const auto fresh = static_cast<double>(more);
    const double variance =
        (weight * usual * usual + fresh * check.standard_deviation * check.standard_deviation) /
        (weight + fresh);
    learnt.learn(check.placement,
                 {.standard_deviation = std::sqrt(variance), .degrees_of_freedom = before + more});
  }
  return learnt;
}

}  // namespace ptbench
