#include "src/judge/clock.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "src/measure/spread.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

/// What the clock deviates by, at least, where steps that ignore it can be told from errors of what
/// is seen of it, which are half as large.
constexpr double kWandering = 0.015;
/// And in shares of what it changes between the sides.
constexpr double kLeastWandering = 1.0 / 3;

/// Of clean repetitions, as they deviate from the means of their side and placement.
struct ClockDeviations {
  std::vector<double> steps;   ///< y
  std::vector<double> clocks;  ///< f
  Size groups = 0;             ///< of repetitions, each with means of its own
};

void add_side(const std::vector<RepetitionTime>& times, ClockDeviations& all) {
  LogTimes clocks;
  for (const RepetitionTime& time : times)
    if (time.log_time) clocks[time.placement].push_back(time.log_hertz.value());
  std::ranges::copy(deviations_of(by_class(times)), std::back_inserter(all.steps));
  std::ranges::copy(deviations_of(clocks), std::back_inserter(all.clocks));
  all.groups += std::ssize(clocks);
}

double product(const std::vector<double>& one, const std::vector<double>& other) {
  double sum = 0;
  for (std::size_t at = 0; at < one.size(); ++at) sum += one[at] * other[at];
  return sum;
}

/// How far the slope of steps on the period of the clock is from 1, with its own standard error.
double unexplained_share(const ClockDeviations& all, double degrees_of_freedom) {
  const double squares = product(all.clocks, all.clocks);
  if (degrees_of_freedom < 1 || !(squares > 0)) return 1;
  const double slope = -product(all.steps, all.clocks) / squares;
  double residue = 0;
  for (std::size_t at = 0; at < all.steps.size(); ++at) {
    const double rest = all.steps[at] + slope * all.clocks[at];
    residue += rest * rest;
  }
  const double error = std::sqrt(residue / degrees_of_freedom / squares);
  return std::hypot(1 - slope, error);
}

}  // namespace

std::optional<double> mean_log_hertz(std::span<const RepetitionTime> times) {
  std::vector<double> clocks;
  for (const RepetitionTime& time : times) {
    if (!time.log_time) continue;
    if (!time.log_hertz) return std::nullopt;
    clocks.push_back(*time.log_hertz);
  }
  if (clocks.empty()) return std::nullopt;
  return mean(clocks);
}

std::optional<ClockEvidence> clock_evidence(const SamplesRecord& base, const SamplesRecord& fresh) {
  const std::vector<RepetitionTime> base_times = median_times(base);
  const std::vector<RepetitionTime> new_times = median_times(fresh);
  const std::optional<double> of_base = mean_log_hertz(base_times);
  const std::optional<double> of_new = mean_log_hertz(new_times);
  if (!of_base || !of_new) return {};
  ClockDeviations all;
  add_side(base_times, all);
  add_side(new_times, all);
  const auto degrees = static_cast<double>(std::ssize(all.clocks) - all.groups - 1);

  std::vector<double> sums;
  std::vector<double> periods;
  for (std::size_t at = 0; at < all.clocks.size(); ++at) {
    sums.push_back(2 * all.steps[at] + all.clocks[at]);
    periods.push_back(-all.clocks[at]);
  }
  ClockEvidence evidence{.change = *of_new - *of_base,
                         .follows = rise_together(sums, periods, degrees),
                         .unexplained = unexplained_share(all, degrees)};
  const double deviation =
      degrees < 1 ? 0 : std::sqrt(product(all.clocks, all.clocks) / (degrees + 1));
  const double enough = std::max(kWandering, kLeastWandering * std::abs(evidence.change));
  evidence.ignores = deviation >= enough && rise_together(sums, all.clocks, degrees);
  return evidence;
}

std::vector<RepetitionTime> at_clock(std::vector<RepetitionTime> times, double log_hertz) {
  for (RepetitionTime& time : times)
    if (time.log_time) *time.log_time += time.log_hertz.value() - log_hertz;
  return times;
}

}  // namespace ptbench
