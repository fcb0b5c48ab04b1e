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

/// Standard deviation of a difference that the prior expects of rounds, on average over their
/// classes.
double prior_of_differences(std::span<const Round> rounds, const PriorNoise& prior) {
  double squares = 0;
  for (const Round& round : rounds)
    squares += 2 * prior.of(round.placement) * prior.of(round.placement);
  return std::sqrt(squares / static_cast<double>(rounds.size()));
}

/// Where most rounds were made, with the means of their sides.
void describe_class(std::span<const Round> rounds, LogChange& change) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> classes;
  for (const Round& round : rounds) {
    auto& [base, fresh] = classes[round.placement];
    base.push_back(round.base_log_time);
    fresh.push_back(round.new_log_time);
  }
  const auto& [placement, times] = *std::ranges::max_element(
      classes, {}, [](const auto& one) { return one.second.first.size(); });
  change.placement = placement;
  change.base_log_time = mean(times.first);
  change.new_log_time = mean(times.second);
}

bool tells_more(const LogChange& one, const LogChange& other) {
  if (one.spread.unusual != other.spread.unusual) return other.spread.unusual;
  return one.half_width < other.half_width;
}

}  // namespace

std::optional<LogChange> ChangeEstimator::operator()(const SamplesRecord& base,
                                                     const SamplesRecord& fresh) {
  std::optional<LogChange> means = by_means(clean_log_times(base), clean_log_times(fresh));
  std::optional<LogChange> rounds = by_rounds(rounds_of(base, fresh));
  if (!means || (rounds && tells_more(*rounds, *means))) return rounds;
  return means;
}

std::optional<LogChange> ChangeEstimator::by_rounds(std::span<const Round> rounds) {
  if (std::ssize(rounds) < kLeastRepetitions) return {};
  std::vector<double> differences;
  for (const Round& round : rounds) differences.push_back(round.new_log_time - round.base_log_time);
  const auto count = static_cast<double>(rounds.size());
  LogChange change;
  describe_class(rounds, change);
  change.rounds = std::ssize(rounds);
  change.estimate = mean(differences);
  change.spread = spread_of({&differences, 1}, prior_of_differences(rounds, prior_));
  change.half_width = quantile99(change.spread.degrees_of_freedom) *
                      change.spread.standard_deviation / std::sqrt(count);
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

  const Spread widest = std::ranges::max_element(classes, {}, [](const ClassChange& one) {
                          return one.change.spread.standard_deviation;
                        })->change.spread;
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
  if (!judges_usual) change.spread = widest;
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
