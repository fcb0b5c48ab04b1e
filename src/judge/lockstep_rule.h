#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/size.h"
#include "src/judge/comparison.h"
#include "src/judge/lockstep_pairs.h"
#include "src/measure/prior_noise.h"
#include "src/measure/record.h"
#include "src/measure/spread.h"

namespace ptbench {

/// Pairs that a verdict needs.
inline constexpr Size kLeastPairs = 3;
/// Pairs that a gate measures at the most unless it is told otherwise, and where it looks for less
/// than `kSmallChange`.
inline constexpr Size kUsualMostPairs = 14;
inline constexpr Size kUsualMostShortPairs = 28;

/// A smaller change is of the size by which processes of one program differ: more processes tell
/// of it, not longer ones.
inline constexpr double kSmallChange = 0.02;

/// Classes of `PriorNoise`: how pairs of equal programs scatter, by the median and by the mean.
inline constexpr std::string_view kLockstepMedian = "lockstep";
inline constexpr std::string_view kLockstepMean = "lockstep-mean";

/// Fixed before the first pair is measured.
struct LockstepRule {
  double detect = 0.05;  ///< the smallest change that matters
  /// Pairs are added up to so many, and looked at on the way, see `next_look`. Empty: looked at
  /// once, where their number was not chosen by what they said.
  std::optional<Size> max_pairs = std::nullopt;
  Size first_look = 6;    ///< pairs; fewer could not decide
  Size palindromes = 20;  ///< of turns in a pair
};

/// What a gate measures to find changes of `detect`: below `kSmallChange` more and shorter pairs,
/// without looks at too few of them to decide. `max_pairs`: what the user wants.
[[nodiscard]] LockstepRule gate_rule(double detect, std::optional<Size> max_pairs);

/// After how many pairs to look next where `pairs` are measured: 6, 8, 10, 14, 20, 28, 40 and so
/// on from `first_look` on, at last `max_pairs`; empty where that was the last look. Needs
/// `max_pairs`.
[[nodiscard]] std::optional<Size> next_look(const LockstepRule& rule, Size pairs);

/// How the logarithm of a step's time changes from BASE to NEW, by the median or the mean.
struct LockstepChange {
  double estimate = 0;    ///< NEW less BASE
  double half_width = 0;  ///< of its interval
  Spread spread;          ///< of a pair
  double usual = 0;       ///< s0, the standard deviation that is expected of the same
};

struct LockstepJudgement {
  Verdict verdict = Verdict::ambiguous;  ///< or same, faster, slower
  std::string reason;                    ///< why it is ambiguous, and what helps
  Size pairs = 0;
  double level = 0;  ///< of either interval: 0.99975 where there are four looks
  /// Whose change the verdict rests on: the median's, unless the mean alone is slower, faster or
  /// ambiguous.
  Statistic decided_by = Statistic::median;
  /// Between the logarithms of the medians of both sides' processes, where that decided and no
  /// interval; above 0.
  std::optional<double> gap = std::nullopt;
  /// How often equal programs differ so clearly, on the scale of a level of 99 %: at most 0.01 of
  /// slower and faster, else 1.
  double p_value = 1;
  LockstepChange median;
  LockstepChange mean;
  /// The change that the verdict rests on.
  [[nodiscard]] const LockstepChange& deciding() const {
    return decided_by == Statistic::mean ? mean : median;
  }
  double base_log_time = 0;  ///< of a median step of BASE, the median over pairs
  double base_log_mean = 0;  ///< of the mean step of BASE, the median over pairs
};

/// Judges at a look at the first `pairs.size()` pairs, `kLeastPairs` at least.
///
/// The estimate is the mean of the pairs without the largest and smallest eighth (rounded up; none
/// of fewer than 6 pairs), with Student's t and the winsorised variance: Tukey and McLaughlin,
/// "Less vulnerable confidence and significance procedures for location based on a single sample:
/// trimming/winsorization 1", 1963; Yuen, "The two-sample trimmed t for unequal population
/// variances", 1974. Its spread s, with ν degrees of freedom (pairs kept, less one), is drawn
/// towards the prior's s0: s² = (4·s0² + ν·s²) / (4 + ν); where s > 3·s0, s itself with ν, and so
/// where s > s0 and less than `kSmallChange` is looked for: shorter pairs scatter more. An s0 below
/// `PriorNoise::kUnlearnt` counts as that: hosts are busier at other times.
///
/// All intervals of a measurement (the median's and the mean's, at each planned look) cover the
/// truth together with 99.8 %, whatever the looks depend on: repeated confidence intervals
/// (Jennison and Turnbull, "Interim analyses: the repeated confidence interval approach", 1989)
/// whose error is divided evenly (Bonferroni). So a verdict may be given at any look.
///
/// By either statistic: slower / faster: |e| > detect / 2 and the interval excludes 0; same: |e| ≤
/// detect / 2 and the interval lies within ± detect. Slower is what is slower by one and not faster
/// by the other; faster alike; same what is the same by both. Anything else is ambiguous, except
/// for pairs that are looked at once where every NEW process is slower (faster) than every BASE
/// one, by medians, with a gap above detect / 2: with at least 5 pairs that has p ≤ 0.008 (see
/// Separation), and is slower (faster), however they scatter.
[[nodiscard]] LockstepJudgement judge(std::span<const LockstepPair> pairs, const LockstepRule& rule,
                                      const PriorNoise& prior);

/// At which look a verdict is to be expected if the pairs to come are like those of `judged`, which
/// is ambiguous: changes stay as they are, and intervals become narrower with the number of pairs.
/// Empty where none is to be expected up to `rule.max_pairs`.
[[nodiscard]] std::optional<Size> expected_pairs(const LockstepJudgement& judged,
                                                 const LockstepRule& rule);

/// The judgement of two sides' samples, whose number of pairs was fixed beforehand or was looked at
/// up to `SamplesRecord::max_pairs` from `SamplesRecord::first_look` on; empty where they have
/// fewer than `kLeastPairs` pairs.
[[nodiscard]] std::optional<LockstepJudgement> judge_lockstep(const SamplesRecord& base,
                                                              const SamplesRecord& fresh,
                                                              double detect,
                                                              const PriorNoise& prior);

/// What the pairs of one measurement teach, whatever its change is: both classes, with what `known`
/// has of them; what was not known before counts as 10 degrees of freedom of
/// `PriorNoise::kUnlearnt`. The degrees of freedom of what was known are at most 200, so that a
/// machine that becomes another is learnt anew. Fewer pairs than `kLeastPairs`, or a spread beyond
/// 3 × `kUnlearnt`, teach nothing: that class is not in the result. Pairs are told once only.
[[nodiscard]] PriorNoise learn(std::span<const LockstepPair> pairs, const PriorNoise& known);

}  // namespace ptbench
