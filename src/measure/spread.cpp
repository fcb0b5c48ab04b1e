#include "src/measure/spread.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <string_view>

#include "src/base/error.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

/// What the prior counts as.
constexpr double kPriorDegrees = 10;
constexpr std::string_view kNear = "near";

/// Squared deviations of values from their own mean, added up.
double sum_of_squares(std::span<const double> values) {
  const double deviation = standard_deviation(values).value_or(0);
  return deviation * deviation * static_cast<double>(values.size() - 1);
}

}  // namespace

LogTimes clean_log_times(const SamplesRecord& samples) { return by_class(median_times(samples)); }

const LogTimes::value_type* counted_class(const LogTimes& classes) {
  const LogTimes::value_type* counted = nullptr;
  for (const auto& of_class : classes) {
    const std::size_t most = counted == nullptr ? 0 : counted->second.size();
    const std::size_t count = of_class.second.size();
    if (count > most || (count == most && of_class.first == kNear)) counted = &of_class;
  }
  return counted;
}

Spread own_spread_of(std::span<const std::vector<double>> groups) {
  double squares = 0;
  double degrees = 0;
  for (const std::vector<double>& group : groups) {
    if (group.size() < 2) continue;
    squares += sum_of_squares(group);
    degrees += static_cast<double>(group.size() - 1);
  }
  return {.standard_deviation = degrees > 0 ? std::sqrt(squares / degrees) : 0,
          .degrees_of_freedom = degrees};
}

Spread spread_of(std::span<const std::vector<double>> groups, double prior) {
  ensure(prior > 0, "a prior that knows no noise");
  Spread own = own_spread_of(groups);
  if (own.standard_deviation > kUnusualSpread * prior) {
    own.unusual = true;
    return own;
  }
  const double degrees = kPriorDegrees + own.degrees_of_freedom;
  const double squares = own.degrees_of_freedom * own.standard_deviation * own.standard_deviation;
  const double variance = (kPriorDegrees * prior * prior + squares) / degrees;
  return {.standard_deviation = std::sqrt(variance), .degrees_of_freedom = degrees};
}

double t_quantile(double p, double degrees_of_freedom) {
  ensure(p > 0 && p < 1, "a t quantile outside (0, 1)");
  ensure(degrees_of_freedom > 0, "a t distribution without degrees of freedom");
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), p);
}

double t_p_value(double t, double degrees_of_freedom) {
  ensure(degrees_of_freedom > 0, "a t distribution without degrees of freedom");
  const boost::math::students_t distribution(degrees_of_freedom);
  return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
}

double half_width(const Spread& spread, Size count, double level) {
  ensure(count >= 1, "the interval of a mean of nothing");
  return t_quantile((1 + level) / 2, spread.degrees_of_freedom) * spread.standard_deviation /
         std::sqrt(static_cast<double>(count));
}

bool rise_together(std::span<const double> one, std::span<const double> other,
                   double degrees_of_freedom) {
  ensure(one.size() == other.size(), "values in pairs");
  if (degrees_of_freedom < 1) return false;
  const double one_mean = mean(one);
  const double other_mean = mean(other);
  double products = 0;
  for (std::size_t at = 0; at < one.size(); ++at)
    products += (one[at] - one_mean) * (other[at] - other_mean);
  const double squares = sum_of_squares(one) * sum_of_squares(other);
  const double t = t_quantile(0.95, degrees_of_freedom);
  return products > std::sqrt(squares) * t / std::sqrt(degrees_of_freedom + t * t);
}

bool is_precise_enough(const SamplesRecord& samples, double target_noise, const PriorNoise& prior) {
  const LogTimes classes = clean_log_times(samples);
  const LogTimes::value_type* counted = counted_class(classes);
  if (counted == nullptr) return false;
  const auto& [placement, times] = *counted;
  if (std::ssize(times) < kLeastRepetitions) return false;
  const Spread spread = spread_of({&times, 1}, prior.of(placement));
  return half_width(spread, std::ssize(times), 0.95) <= target_noise;
}

}  // namespace ptbench
