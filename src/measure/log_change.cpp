#include "src/measure/log_change.h"

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

constexpr double kLevel = 0.99;
/// Of a placement class on either side: one repetition alone would say nothing of its own spread.
constexpr Size kLeastOfClass = 2;

/// One placement class of both sides.
struct ClassChange {
  LogChange change;      ///< without its interval
  double precision = 0;  ///< 1 / variance of the estimate
  Size base_count = 0;   ///< repetitions
  Size new_count = 0;
};

ClassChange change_of(const std::string& placement, const std::vector<double>& base,
                      const std::vector<double>& fresh, double prior) {
  ClassChange found;
  LogChange& change = found.change;
  change.placement = placement;
  change.base_log_time = mean(base);
  change.new_log_time = mean(fresh);
  change.estimate = change.new_log_time - change.base_log_time;
  change.spread = spread_of(std::array{base, fresh}, prior);
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
                                        const PriorNoise& prior) {
  std::vector<ClassChange> classes;
  for (const auto& [placement, base_times] : base) {
    const auto other = fresh.find(placement);
    if (other == fresh.end() || std::ssize(base_times) < kLeastOfClass ||
        std::ssize(other->second) < kLeastOfClass)
      continue;
    classes.push_back(change_of(placement, base_times, other->second, prior.of(placement)));
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

/// Of each class from its own mean, one class after the other.
std::vector<double> deviations(const LogTimes& classes) {
  std::vector<double> all;
  for (const auto& [placement, times] : classes) {
    const double middle = mean(times);
    for (const double time : times) all.push_back(time - middle);
  }
  return all;
}

/// Whether BASE and NEW are slow in the same rounds.
bool are_slow_together(std::span<const Round> rounds) {
  const RoundTimes times = times_of(rounds);
  const Size degrees = std::ssize(rounds) - std::ssize(times.base) - 1;
  return rise_together(deviations(times.base), deviations(times.fresh),
                       static_cast<double>(degrees));
}

/// What the prior expects of a repetition in its round, on average over the rounds' classes.
double usual_of(std::span<const Round> rounds, const PriorNoise& prior) {
  double squares = 0;
  for (const Round& round : rounds)
    squares += prior.of(round.placement) * prior.of(round.placement);
  return std::sqrt(squares / static_cast<double>(rounds.size()));
}

}  // namespace

std::optional<LogChange> ChangeEstimator::operator()(const LogTimes& base, const LogTimes& fresh,
                                                     std::span<const Round> rounds) {
  std::optional<LogChange> means = by_means(base, fresh);
  std::optional<LogChange> paired = by_rounds(rounds);
  if (!means) return paired;
  if (!paired || paired->spread.unusual || !are_slow_together(rounds)) return means;
  const bool tells_more = means->spread.unusual || paired->half_width < means->half_width;
  return tells_more ? paired : means;
}

std::optional<LogChange> ChangeEstimator::by_rounds(std::span<const Round> rounds) {
  if (std::ssize(rounds) < kLeastRepetitions) return {};
  std::vector<double> differences;
  for (const Round& round : rounds) differences.push_back(round.new_log_time - round.base_log_time);
  LogChange change;
  change.rounds = std::ssize(rounds);
  change.estimate = mean(differences);
  const RoundTimes times = times_of(rounds);
  const auto& [placement, base] = *speaking_class(times.base);
  change.placement = placement;
  change.base_log_time = mean(base);
  change.new_log_time = mean(times.fresh.at(placement));
  // A difference varies twice as much as each of its sides.
  change.usual = usual_of(rounds, prior_);
  change.spread = spread_of({&differences, 1}, std::numbers::sqrt2 * change.usual);
  change.half_width = quantile99(change.spread.degrees_of_freedom) *
                      change.spread.standard_deviation /
                      std::sqrt(static_cast<double>(rounds.size()));
  change.spread.standard_deviation /= std::numbers::sqrt2;
  return change;
}

std::optional<LogChange> ChangeEstimator::by_means(const LogTimes& base, const LogTimes& fresh) {
  std::vector<ClassChange> classes = common_classes(base, fresh, prior_);
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
  change.half_width = quantile99(1 / inverse_degrees) / std::sqrt(precision);
  return change;
}

double ChangeEstimator::quantile99(double degrees_of_freedom) {
  const auto [found, is_new] = quantiles_.try_emplace(degrees_of_freedom, 0);
  if (is_new) found->second = t_quantile((1 + kLevel) / 2, degrees_of_freedom);
  return found->second;
}

Verdict verdict_of(const LogChange& change, double detect) {
  if (change.spread.unusual) return Verdict::ambiguous;
  const double size = std::abs(change.estimate);
  if (size > detect / 2) {
    if (change.half_width >= size) return Verdict::ambiguous;
    return change.estimate > 0 ? Verdict::slower : Verdict::faster;
  }
  return size + change.half_width <= detect ? Verdict::same : Verdict::ambiguous;
}

}  // namespace ptbench
