#include "src/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "src/base/error.h"

namespace ptbench {
namespace {

std::vector<double> ascending(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted;
}

}  // namespace

bool is_positive(const std::optional<double>& value) {
  return value && *value > 0 && std::isfinite(*value);
}

double mean(std::span<const double> values) {
  ensure(!values.empty(), "the mean of nothing");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> standard_deviation(std::span<const double> values) {
  ensure(!values.empty(), "the standard deviation of nothing");
  if (values.size() == 1) return {};
  const double centre = mean(values);
  double squares = 0;
  double residue = 0;  // Σ(x − mean): 0 but for the rounding of the mean, which it corrects
  for (const double value : values) {
    squares += (value - centre) * (value - centre);
    residue += value - centre;
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(std::max(0.0, squares - residue * residue / count) / (count - 1));
}

double quantile(std::span<const double> sorted, double p) {
  ensure(!sorted.empty(), "a quantile of nothing");
  ensure(p >= 0 && p <= 1, "a quantile outside [0, 1]");
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

double weighted_quantile(std::span<const Weighted> sorted, double p) {
  ensure(!sorted.empty(), "a quantile of nothing");
  ensure(p >= 0 && p <= 1, "a quantile outside [0, 1]");
  double all = 0;  // from the middle of the first weight to the middle of the last
  for (const Weighted& one : sorted) all += one.weight;
  all -= (sorted.front().weight + sorted.back().weight) / 2;
  double left = p * all;
  for (std::size_t at = 0; at + 1 < sorted.size(); ++at) {
    const double gap = (sorted[at].weight + sorted[at + 1].weight) / 2;
    if (left < gap)
      return sorted[at].value + left / gap * (sorted[at + 1].value - sorted[at].value);
    left -= gap;
  }
  return sorted.back().value;
}

double median(std::span<const double> values) { return quantile(ascending(values), 0.5); }

Summary summarize(std::span<const double> values) {
  const std::vector<double> sorted = ascending(values);
  return {.median = quantile(sorted, 0.5),
          .mean = mean(values),
          .standard_deviation = standard_deviation(values),
          .min = quantile(sorted, 0),
          .max = quantile(sorted, 1),
          .p10 = quantile(sorted, 0.10),
          .p90 = quantile(sorted, 0.90),
          .p95 = quantile(sorted, 0.95),
          .p99 = quantile(sorted, 0.99)};
}

}  // namespace ptbench
