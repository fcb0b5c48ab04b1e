#include "app/results/pairs_to_come.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/base/rough_duration.h"
#include "src/base/units.h"

namespace ptbench {

std::string pairs_to_come_text(const LockstepJudgement& judged, const LockstepRule& rule,
                               double seconds) {
  const std::optional<Size> expected = expected_pairs(judged, rule);
  const bool is_mean = judged.decided_by == Statistic::mean;
  const LockstepChange& change = judged.deciding();
  const std::string now = fmt::format(
      "no verdict after {} pairs: they scatter by {}, and NEW's {} changes by between {} and {}",
      judged.pairs, format_percent(change.spread.standard_deviation),
      is_mean ? "mean step" : "median step",
      format_percent(std::expm1(change.estimate - change.half_width)),
      format_percent(std::expm1(change.estimate + change.half_width)));
  if (expected)
    return fmt::format("{}; at this noise, expect one after {} pairs, in about {}", now, *expected,
                       rough_duration(seconds));
  return fmt::format(
      "{}; at this noise, all {} pairs, in about {}, are not likely to tell a change of {}: close "
      "other programs, or give a larger --max-pairs or --detect",
      now, *rule.max_pairs, rough_duration(seconds), format_percent(rule.detect));
}

}  // namespace ptbench
