#include "src/judge/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "src/base/error.h"
#include "src/judge/ambiguity.h"

namespace ptbench {
namespace {

std::string_view text_of(Statistic statistic) {
  switch (statistic) {
    case Statistic::median: return "the median step";
    case Statistic::lower_quartile: return "the quickest quarter of the steps";
    case Statistic::mean: return "the mean step";
  }
  throw Defect("a statistic without a text");
}

Interval ratio_interval(const LogChange& change) {
  return {.low = std::expm1(change.estimate - change.half_width),
          .high = std::expm1(change.estimate + change.half_width)};
}

/// Whether the interval, which can be believed, leaves out 0.
bool is_told_by_interval(const LogChange& change) {
  return !change.spread.unusual && change.half_width < std::abs(change.estimate);
}

/// Nothing where the interval tells the verdict.
std::string why_apart(const LogChange& change) {
  if (is_told_by_interval(change)) return {};
  return fmt::format("every repetition of NEW is {} than every one of BASE, although they scatter",
                     change.estimate > 0 ? "slower" : "faster");
}

}  // namespace

Judgement judge_step(const StepChange& step, double detect) {
  const Verdict typical = verdict_of(step.typical, detect);
  if (!step.whole)
    return {.verdict = typical,
            .reason = is_change(typical)              ? why_apart(step.typical)
                      : typical == Verdict::ambiguous ? why_ambiguous(step.typical, detect)
                                                      : "",
            .p_value = p_value_of(step.typical, detect)};
  const std::string_view of_typical = text_of(step.by.typical);
  const std::string_view of_whole = text_of(step.by.whole.value());
  const Verdict whole = verdict_of(*step.whole, detect);
  const double p = std::min(p_value_of(step.typical, detect), p_value_of(*step.whole, detect));
  if (is_change(typical) && is_change(whole) && typical != whole)
    return {.reason = fmt::format("{} is {}, but {} is {}: see the percentiles", of_typical,
                                  change_text(step.typical), of_whole, change_text(*step.whole))};
  if (is_change(typical))
    return {.verdict = typical, .reason = why_apart(step.typical), .p_value = p};
  if (is_change(whole))
    return {.verdict = whole,
            .reason = fmt::format("{} is {}, though {} is not: see the percentiles", of_whole,
                                  change_text(*step.whole), of_typical),
            .p_value = p,
            .rests_on_whole = true};
  if (typical == Verdict::ambiguous) return {.reason = why_ambiguous(step.typical, detect)};
  if (std::abs(step.whole->estimate) <= detect / 2) return {.verdict = Verdict::same};
  return {.reason = fmt::format("{} stayed the same, but {} may not have: {}", of_typical, of_whole,
                                interval_text(*step.whole)),
          .rests_on_whole = true};
}

DecidingChange deciding_change(const StepChange& step, const Judgement& judgement) {
  const LogChange& change = judgement.rests_on_whole ? step.whole.value() : step.typical;
  DecidingChange deciding{
      .statistic = judgement.rests_on_whole ? step.by.whole.value() : step.by.typical,
      .base_seconds = std::exp(change.base_log_time),
      .new_seconds = std::exp(change.new_log_time),
      .change = std::expm1(change.estimate),
      .level = change.level};
  if (is_change(judgement.verdict) && !is_told_by_interval(change))
    deciding.least = std::expm1(std::copysign(change.separation.gap, change.estimate));
  else
    deciding.interval = ratio_interval(change);
  return deciding;
}

void describe_change(const StepChange& step, RunComparison& result) {
  const LogChange& typical = step.typical;
  result.statistic = step.by.typical;
  result.rounds = typical.rounds;
  result.base_seconds = std::exp(typical.base_log_time);
  result.new_seconds = std::exp(typical.new_log_time);
  result.change = std::expm1(typical.estimate);
  result.change_ci99 = ratio_interval(typical);
  result.mean_change.reset();
  result.mean_change_ci999.reset();
  if (step.by.whole != Statistic::mean || !step.whole) return;
  result.mean_change = std::expm1(step.whole->estimate);
  result.mean_change_ci999 = ratio_interval(*step.whole);
}

}  // namespace ptbench
