#include "src/judge/log_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "src/measure/statistics.h"

namespace ptbench {
namespace {

/// Repetitions of either side, for `Separation`: 5 come apart from 5 in 2 of 252 orders.
constexpr Size kLeastApart = 5;
/// Repetitions of a placement class on either side: one repetition alone would say nothing of its
/// own spread.
constexpr Size kLeastOfClass = 2;

/// One placement class of both sides.
struct ClassChange {
  LogChange change;      ///< without its interval
  double precision = 0;  ///< 1 / variance of the estimate
  Size base_count = 0;   ///< repetitions
  Size new_count = 0;
};

ClassChange change_of(const std::string& placement, const std::vector<double>& base,
                      const std::vector<double>& fresh, double prior, const IntervalRule& rule) {
  ClassChange found;
  LogChange& change = found.change;
  change.placement = placement;
  change.base_log_time = mean(base);
  change.new_log_time = mean(fresh);
  change.estimate = change.new_log_time - change.base_log_time;
  change.spread = spread_by(rule, std::array{base, fresh}, prior);
  change.usual = prior;
  const double deviation = change.spread.standard_deviation;
  const double inverse_counts =
      1 / static_cast<double>(base.size()) + 1 / static_cast<double>(fresh.size());
  found.precision = 1 / (deviation * deviation * inverse_counts);
  found.base_count = std::ssize(base);
  found.new_count = std::ssize(fresh);
  return found;
}

std::vector<ClassChange> common_classes(const LogTimes& base, const LogTimes& fresh,
                                        const PriorNoise& prior, const IntervalRule& rule) {
  std::vector<ClassChange> classes;
  for (const auto& [placement, base_times] : base) {
    const auto other = fresh.find(placement);
    if (other == fresh.end() || std::ssize(base_times) < kLeastOfClass ||
        std::ssize(other->second) < kLeastOfClass)
      continue;
    classes.push_back(change_of(placement, base_times, other->second, prior.of(placement), rule));
  }
  return classes;
}

bool is_unusual(const ClassChange& one) { return one.change.spread.unusual; }

bool are_enough(const std::vector<ClassChange>& classes) {
  Size base = 0;
  Size fresh = 0;
  for (const ClassChange& one : classes) {
    base += one.base_count;
    fresh += one.new_count;
  }
  return std::min(base, fresh) >= kLeastRepetitions;
}

/// The sides of rounds by class, in the rounds' order.
struct RoundTimes {
  LogTimes base;
  LogTimes fresh;
};

RoundTimes times_of(std::span<const Round> rounds) {
  RoundTimes times;
  for (const Round& round : rounds) {
    times.base[round.placement].push_back(round.base_log_time);
    times.fresh[round.placement].push_back(round.new_log_time);
  }
  return times;
}

/// Whether BASE and NEW are slow in the same rounds.
bool are_slow_together(std::span<const Round> rounds) {
  const RoundTimes times = times_of(rounds);
  const Size degrees = std::ssize(rounds) - std::ssize(times.base) - 1;
  return rise_together(deviations_of(times.base), deviations_of(times.fresh),
                       static_cast<double>(degrees));
}

/// What the prior expects of a repetition in its round, on average over the rounds' classes.
double usual_of(std::span<const Round> rounds, const PriorNoise& prior) {
  double squares = 0;
  for (const Round& round : rounds)
    squares += prior.of(round.placement) * prior.of(round.placement);
  return std::sqrt(squares / static_cast<double>(rounds.size()));
}

/// 2 / C(n + m, n): one order of all repetitions of equal programs is as likely as another.
double p_of_order(Size base, Size fresh) {
  double orders = 1;
  for (Size chosen = 1; chosen <= fresh; ++chosen)
    orders *= static_cast<double>(base + chosen) / static_cast<double>(chosen);
  return 2 / orders;
}

/// Whether the interval leaves out 0 and can be believed.
bool is_beyond_noise(const LogChange& change, double detect) {
  const bool believed = !change.spread.unusual || change.separation.gap > detect / 2;
  return believed && change.half_width < std::abs(change.estimate);
}

bool are_apart(const LogChange& change, double detect) {
  return change.separation.gap > detect / 2 && change.separation.p_value <= 1 - kVerdictLevel;
}

}  // namespace

std::optional<LogChange> ChangeEstimator::operator()(const LogTimes& base, const LogTimes& fresh,
                                                     std::span<const Round> rounds) {
  std::optional<LogChange> change = by_means(base, fresh);
  std::optional<LogChange> paired = by_rounds(rounds);
  const bool may_pair =
      paired && (!change || (!paired->spread.unusual && are_slow_together(rounds)));
  if (may_pair && (!change || change->spread.unusual || paired->half_width < change->half_width))
    change = std::move(paired);
  if (change) change->separation = separation_of(base, fresh, change->estimate);
  return change;
}

std::optional<LogChange> ChangeEstimator::by_rounds(std::span<const Round> rounds) {
  if (std::ssize(rounds) < kLeastRepetitions) return {};
  std::vector<double> differences;
  for (const Round& round : rounds) differences.push_back(round.new_log_time - round.base_log_time);
  LogChange change;
  change.rounds = std::ssize(rounds);
  change.estimate = mean(differences);
  const RoundTimes times = times_of(rounds);
  const auto& [placement, base] = *counted_class(times.base);
  change.placement = placement;
  change.base_log_time = mean(base);
  change.new_log_time = mean(times.fresh.at(placement));
  // A difference varies twice as much as each of its sides.
  change.usual = usual_of(rounds, prior_);
  change.spread = spread_by(rule_, {&differences, 1}, std::numbers::sqrt2 * change.usual);
  set_error(change.spread.standard_deviation / std::sqrt(static_cast<double>(rounds.size())),
            change.spread.degrees_of_freedom, change);
  change.spread.standard_deviation /= std::numbers::sqrt2;
  return change;
}

std::optional<LogChange> ChangeEstimator::by_means(const LogTimes& base, const LogTimes& fresh) {
  std::vector<ClassChange> classes = common_classes(base, fresh, prior_, rule_);
  if (!are_enough(classes)) return {};
  std::vector<ClassChange> usual = classes;
  std::erase_if(usual, is_unusual);
  const bool judges_usual = are_enough(usual);
  if (judges_usual) classes = std::move(usual);

  const LogChange widest = std::ranges::max_element(classes, {}, [](const ClassChange& one) {
                             return one.change.spread.standard_deviation;
                           })->change;
  double precision = 0;
  for (const ClassChange& one : classes) precision += one.precision;
  double estimate = 0;
  double inverse_degrees = 0;
  for (const ClassChange& one : classes) {
    const double weight = one.precision / precision;
    estimate += weight * one.change.estimate;
    inverse_degrees += weight * weight / one.change.spread.degrees_of_freedom;
  }
  LogChange change =
      std::move(std::ranges::max_element(classes, {}, &ClassChange::precision)->change);
  change.estimate = estimate;
  if (!judges_usual) {
    change.spread = widest.spread;
    change.usual = widest.usual;
  }
  change.spread.unusual = !judges_usual;
  set_error(1 / std::sqrt(precision), 1 / inverse_degrees, change);
  return change;
}

void ChangeEstimator::set_error(double standard_error, double degrees_of_freedom,
                                LogChange& change) {
  change.level = rule_.level;
  change.standard_error = standard_error;
  change.degrees_of_freedom = degrees_of_freedom;
  change.half_width = quantile(degrees_of_freedom) * standard_error;
}

double ChangeEstimator::quantile(double degrees_of_freedom) {
  const auto [found, is_new] = quantiles_.try_emplace(degrees_of_freedom, 0);
  if (is_new) found->second = t_quantile((1 + rule_.level) / 2, degrees_of_freedom);
  return found->second;
}

void add_deviation(double deviation, LogChange& change) {
  constexpr double kMostDegrees = 1e6;
  const double own = change.standard_error * change.standard_error;
  const double both = own + deviation * deviation;
  change.degrees_of_freedom =
      std::min(kMostDegrees, change.degrees_of_freedom * (both / own) * (both / own));
  change.standard_error = std::sqrt(both);
  const double half_width =
      t_quantile((1 + change.level) / 2, change.degrees_of_freedom) * change.standard_error;
  const double more = std::max(0.0, half_width - change.half_width);
  change.half_width = half_width;
  change.separation.gap = std::max(0.0, change.separation.gap - more);
}

Spread spread_by(const IntervalRule& rule, std::span<const std::vector<double>> groups,
                 double prior) {
  const Spread drawn = spread_of(groups, prior);
  const Spread own = own_spread_of(groups);
  if (!rule.own_spread || drawn.unusual || own.degrees_of_freedom < 1) return drawn;
  const auto width = [&](const Spread& spread) {
    return t_quantile((1 + rule.level) / 2, spread.degrees_of_freedom) * spread.standard_deviation;
  };
  return width(own) > width(drawn) ? own : drawn;
}

Separation separation_of(const LogTimes& base, const LogTimes& fresh, double estimate) {
  Separation least;
  for (const auto& [placement, base_times] : base) {
    const auto other = fresh.find(placement);
    if (other == fresh.end() || std::ssize(base_times) < kLeastApart ||
        std::ssize(other->second) < kLeastApart)
      continue;
    const auto [base_low, base_high] = std::ranges::minmax(base_times);
    const auto [new_low, new_high] = std::ranges::minmax(other->second);
    const double gap = estimate > 0 ? new_low - base_high : base_low - new_high;
    if (gap <= 0) return {};
    const double p = p_of_order(std::ssize(base_times), std::ssize(other->second));
    const bool is_first = least.p_value == 1;
    least = {.gap = is_first ? gap : std::min(gap, least.gap),
             .p_value = std::min(p, least.p_value)};
  }
  return least;
}

Verdict verdict_of(const LogChange& change, double detect) {
  const double size = std::abs(change.estimate);
  if (size > detect / 2) {
    if (!is_beyond_noise(change, detect) && !are_apart(change, detect)) return Verdict::ambiguous;
    return change.estimate > 0 ? Verdict::slower : Verdict::faster;
  }
  const bool within = !change.spread.unusual && size + change.half_width <= detect;
  return within ? Verdict::same : Verdict::ambiguous;
}

double p_value_of(const LogChange& change, double detect) {
  double p = 1;
  if (std::abs(change.estimate) <= detect / 2) return p;
  if (are_apart(change, detect)) p = change.separation.p_value;
  if (is_beyond_noise(change, detect)) {
    const double t = change.estimate / change.standard_error;
    const double of_level = t_p_value(t, change.degrees_of_freedom);
    p = std::min(p, of_level * (1 - kVerdictLevel) / (1 - change.level));
  }
  return p;
}

}  // namespace ptbench
