#include "src/judge/lockstep_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/units.h"
#include "src/judge/log_change.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr double kError = 0.002;  // of all intervals of a measurement together
/// What s0 counts as: pairs on a busy host scatter by √2 to 2 times as much as on the same host
/// when it is quiet, so the logarithm of s varies by about 0.35 = √(1 / (2 · 4)).
constexpr double kPriorDegrees = 4;
/// A host that was quiet when it taught s0 may be busy now.
constexpr double kLeastUsual = PriorNoise::kUnlearnt;
constexpr Size kFirstLook = 6;
/// The median and the mean.
constexpr Size kStatistics = 2;

/// 6, 8, 10, 14 and then twice the last but one.
Size look_after(Size look) {
  constexpr Size kSecond = 8;
  Size before = kFirstLook;
  Size next = kSecond;
  while (next <= look) {
    const Size following = next == kSecond ? 10 : next == 10 ? 14 : 2 * before;
    before = next;
    next = following;
  }
  return look < kFirstLook ? kFirstLook : next;
}

Size count_looks(const LockstepRule& rule) {
  if (!rule.max_pairs) return 1;
  Size looks = 0;
  for (auto look = next_look(rule, 0); look; look = next_look(rule, *look)) ++looks;
  return looks;
}

/// How many of `pairs` are left out on either side.
Size count_trimmed(Size pairs) { return pairs < kFirstLook ? 0 : (pairs + 7) / 8; }

/// The mean of the values that are not trimmed.
struct TrimmedMean {
  double mean = 0;
  double variance = 0;  ///< of a value, so that the mean's is variance / count of all
  double degrees_of_freedom = 0;
};

TrimmedMean trimmed_mean(std::vector<double> values) {
  std::ranges::sort(values);
  const auto trimmed = static_cast<std::size_t>(count_trimmed(std::ssize(values)));
  const std::size_t kept = values.size() - 2 * trimmed;
  TrimmedMean result;
  result.mean = mean(std::span(values).subspan(trimmed, kept));
  result.degrees_of_freedom = static_cast<double>(kept - 1);
  // Winsorised: each trimmed value becomes its neighbour that is kept.
  std::fill_n(values.begin(), trimmed, values[trimmed]);
  std::fill_n(values.rbegin(), trimmed, values[trimmed + kept - 1]);
  const double deviation = standard_deviation(values).value_or(0);
  const auto count = static_cast<double>(values.size());
  const double squares = deviation * deviation * (count - 1);
  result.variance = count * squares / (static_cast<double>(kept) * result.degrees_of_freedom);
  return result;
}

std::vector<double> values_of(std::span<const LockstepPair> pairs, double LockstepPair::* value) {
  std::vector<double> values;
  values.reserve(pairs.size());
  for (const LockstepPair& pair : pairs) values.push_back(pair.*value);
  return values;
}

/// `widens_only`: only to a prior that is larger.
Spread drawn_to_prior(const TrimmedMean& trimmed, double prior, bool widens_only) {
  const double deviation = std::sqrt(trimmed.variance);
  const bool is_unusual = deviation > kUnusualSpread * prior;
  if (is_unusual || (widens_only && deviation > prior))
    return {.standard_deviation = deviation,
            .degrees_of_freedom = trimmed.degrees_of_freedom,
            .unusual = is_unusual};
  const double degrees = kPriorDegrees + trimmed.degrees_of_freedom;
  const double squares =
      kPriorDegrees * prior * prior + trimmed.degrees_of_freedom * trimmed.variance;
  return {.standard_deviation = std::sqrt(squares / degrees), .degrees_of_freedom = degrees};
}

LockstepChange change_of(const std::vector<double>& values, double level, double prior,
                         bool widens_only) {
  const TrimmedMean trimmed = trimmed_mean(values);
  LockstepChange change;
  change.estimate = trimmed.mean;
  change.usual = std::max(prior, kLeastUsual);
  change.spread = drawn_to_prior(trimmed, change.usual, widens_only);
  change.half_width = half_width(change.spread, std::ssize(values), level);
  return change;
}

/// By one statistic alone.
Verdict verdict_of(const LockstepChange& change, double detect) {
  const double size = std::abs(change.estimate);
  if (size <= detect / 2)
    return size + change.half_width <= detect ? Verdict::same : Verdict::ambiguous;
  if (change.half_width >= size) return Verdict::ambiguous;
  return change.estimate > 0 ? Verdict::slower : Verdict::faster;
}

Verdict combined(Verdict of_median, Verdict of_mean) {
  const auto either_is = [&](Verdict verdict) {
    return of_median == verdict || of_mean == verdict;
  };
  if (either_is(Verdict::slower) && either_is(Verdict::faster)) return Verdict::ambiguous;
  if (either_is(Verdict::slower)) return Verdict::slower;
  if (either_is(Verdict::faster)) return Verdict::faster;
  return of_median == of_mean ? of_median : Verdict::ambiguous;
}

std::string percent_of_log(double log_change) { return format_percent(std::expm1(log_change)); }

/// The reason of a statistic that is ambiguous by itself.
std::string why_ambiguous(std::string_view name, const LockstepChange& change, double detect) {
  std::string text = fmt::format(
      "the {} changes by {}, with an interval of {} to {}: {}", name,
      percent_of_log(change.estimate), percent_of_log(change.estimate - change.half_width),
      percent_of_log(change.estimate + change.half_width),
      std::abs(change.estimate) <= detect / 2 ? "not within ±" + format_percent(detect)
                                              : std::string("there may be no change"));
  if (change.spread.unusual)
    text +=
        fmt::format("; pairs scatter by {}, usually by {}",
                    format_percent(change.spread.standard_deviation), format_percent(change.usual));
  return text;
}

std::string why_ambiguous(const LockstepJudgement& judgement, Verdict of_median,
                          const LockstepRule& rule) {
  const auto size = [](double change) { return format_percent(std::abs(std::expm1(change))); };
  if (of_median == Verdict::slower || of_median == Verdict::faster)
    return fmt::format("the median is {} by {}, but the mean {} by {}: see the percentiles",
                       name_of(of_median), size(judgement.median.estimate),
                       of_median == Verdict::slower ? "faster" : "slower",
                       size(judgement.mean.estimate));
  const bool is_median = judgement.decided_by == Statistic::median;
  return why_ambiguous(is_median ? "median" : "mean", judgement.deciding(), rule.detect) +
         (!rule.max_pairs ? fmt::format(" from {} pairs: use more --rounds", judgement.pairs)
          : judgement.pairs < *rule.max_pairs
              ? fmt::format(" after {} of {} pairs: use a larger --max-time", judgement.pairs,
                            *rule.max_pairs)
              : fmt::format(" after {} pairs: use a larger --max-pairs", judgement.pairs));
}

/// By one statistic alone, see `LockstepJudgement::p_value`.
double p_value_of(const LockstepChange& change, double detect, Size pairs, double level) {
  const Verdict verdict = verdict_of(change, detect);
  if (verdict != Verdict::slower && verdict != Verdict::faster) return 1;
  const double error = change.spread.standard_deviation / std::sqrt(static_cast<double>(pairs));
  if (!(error > 0)) return 0;
  return t_p_value(change.estimate / error, change.spread.degrees_of_freedom) *
         (1 - kVerdictLevel) / (1 - level);
}

/// By the medians of the processes alone.
Separation separation_of_processes(std::span<const LockstepPair> pairs, double estimate) {
  LogTimes base;
  LogTimes fresh;
  for (const LockstepPair& pair : pairs) {
    base[""].push_back(pair.base_log_time);
    fresh[""].push_back(pair.base_log_time + pair.median);
  }
  return separation_of(base, fresh, estimate);
}

/// The verdict on pairs that scatter too much for an interval.
void judge_by_separation(std::span<const LockstepPair> pairs, double detect,
                         LockstepJudgement& judgement) {
  const Separation separation = separation_of_processes(pairs, judgement.median.estimate);
  if (separation.gap <= detect / 2 || separation.p_value > 1 - kVerdictLevel) return;
  judgement.verdict = judgement.median.estimate > 0 ? Verdict::slower : Verdict::faster;
  judgement.p_value = separation.p_value;
  judgement.gap = separation.gap;
  judgement.reason = fmt::format(
      "all {} processes of NEW are {} than those of BASE, by at least {}", judgement.pairs,
      name_of(judgement.verdict),
      format_percent(
          std::abs(std::expm1(std::copysign(separation.gap, judgement.median.estimate)))));
}

/// One class; empty where its spread teaches nothing.
std::optional<PriorNoise::Learnt> learnt_of(const std::vector<double>& values,
                                            const PriorNoise& known, std::string_view name) {
  constexpr Size kMostDegrees = 200;
  constexpr double kUnlearntDegrees = 10;
  const TrimmedMean trimmed = trimmed_mean(values);
  if (std::sqrt(trimmed.variance) > kUnusualSpread * PriorNoise::kUnlearnt) return {};
  const auto found = known.classes().find(std::string(name));
  const Size before =
      found == known.classes().end() ? 0 : std::min(found->second.degrees_of_freedom, kMostDegrees);
  const double weight = kUnlearntDegrees + static_cast<double>(before);
  const double usual = known.of(name);
  const double squares = weight * usual * usual + trimmed.degrees_of_freedom * trimmed.variance;
  return PriorNoise::Learnt{
      .standard_deviation = std::sqrt(squares / (weight + trimmed.degrees_of_freedom)),
      .degrees_of_freedom = before + std::llround(trimmed.degrees_of_freedom)};
}

}  // namespace

LockstepRule gate_rule(double detect, std::optional<Size> max_pairs) {
  LockstepRule rule{.detect = detect, .max_pairs = max_pairs.value_or(kUsualMostPairs)};
  if (detect >= kSmallChange) return rule;
  rule.max_pairs = max_pairs.value_or(kUsualMostShortPairs);
  rule.first_look = 14;
  rule.palindromes = 8;
  return rule;
}

std::optional<Size> next_look(const LockstepRule& rule, Size pairs) {
  ensure(rule.max_pairs.has_value(), "looks are planned up to a number of pairs");
  if (pairs >= *rule.max_pairs) return {};
  return std::min(look_after(std::max(pairs, rule.first_look - 1)), *rule.max_pairs);
}

LockstepJudgement judge(std::span<const LockstepPair> pairs, const LockstepRule& rule,
                        const PriorNoise& prior) {
  ensure(std::ssize(pairs) >= kLeastPairs, "too few pairs to be judged");
  LockstepJudgement judgement;
  judgement.pairs = std::ssize(pairs);
  judgement.level = 1 - kError / static_cast<double>(kStatistics * count_looks(rule));
  const auto change_by = [&](double LockstepPair::* value, std::string_view noise) {
    return change_of(values_of(pairs, value), judgement.level, prior.of(noise),
                     rule.detect < kSmallChange);
  };
  judgement.median = change_by(&LockstepPair::median, kLockstepMedian);
  judgement.mean = change_by(&LockstepPair::mean, kLockstepMean);
  judgement.base_log_time = median(values_of(pairs, &LockstepPair::base_log_time));
  judgement.base_log_mean = median(values_of(pairs, &LockstepPair::base_log_mean));
  const Verdict of_median = verdict_of(judgement.median, rule.detect);
  judgement.verdict = combined(of_median, verdict_of(judgement.mean, rule.detect));
  const bool leaves_doubt = of_median == Verdict::same && judgement.verdict == Verdict::ambiguous;
  if (leaves_doubt || (is_change(judgement.verdict) && of_median != judgement.verdict))
    judgement.decided_by = Statistic::mean;
  if (judgement.verdict != Verdict::ambiguous) {
    const auto p_of = [&](const LockstepChange& change) {
      return p_value_of(change, rule.detect, judgement.pairs, judgement.level);
    };
    judgement.p_value = std::min(p_of(judgement.median), p_of(judgement.mean));
    return judgement;
  }
  judgement.reason = why_ambiguous(judgement, of_median, rule);
  if (!rule.max_pairs && of_median == Verdict::ambiguous)
    judge_by_separation(pairs, rule.detect, judgement);
  return judgement;
}

std::optional<Size> expected_pairs(const LockstepJudgement& judged, const LockstepRule& rule) {
  const auto after = [&](LockstepChange change, Size pairs) {
    const auto kept = [](Size all) { return static_cast<double>(all - 2 * count_trimmed(all)); };
    change.spread.degrees_of_freedom += kept(pairs) - kept(judged.pairs);
    change.half_width = half_width(change.spread, pairs, judged.level);
    return verdict_of(change, rule.detect);
  };
  for (auto look = next_look(rule, judged.pairs); look; look = next_look(rule, *look))
    if (combined(after(judged.median, *look), after(judged.mean, *look)) != Verdict::ambiguous)
      return look;
  return {};
}

std::optional<LockstepJudgement> judge_lockstep(const SamplesRecord& base,
                                                const SamplesRecord& fresh, double detect,
                                                const PriorNoise& prior) {
  const std::vector<LockstepPair> pairs = lockstep_pairs(base, fresh);
  if (std::ssize(pairs) < kLeastPairs) return {};
  LockstepRule rule{.detect = detect, .max_pairs = std::max(base.max_pairs, fresh.max_pairs)};
  if (rule.max_pairs) rule.max_pairs = std::max(*rule.max_pairs, std::ssize(pairs));
  if (base.first_look && fresh.first_look)
    rule.first_look = std::min(*base.first_look, *fresh.first_look);
  return judge(pairs, rule, prior);
}

PriorNoise learn(std::span<const LockstepPair> pairs, const PriorNoise& known) {
  PriorNoise learnt;
  if (std::ssize(pairs) < kLeastPairs) return learnt;
  if (const auto noise = learnt_of(values_of(pairs, &LockstepPair::median), known, kLockstepMedian))
    learnt.learn(std::string(kLockstepMedian), *noise);
  if (const auto noise = learnt_of(values_of(pairs, &LockstepPair::mean), known, kLockstepMean))
    learnt.learn(std::string(kLockstepMean), *noise);
  return learnt;
}

}  // namespace ptbench
