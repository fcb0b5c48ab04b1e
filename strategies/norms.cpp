#include "strategies/norms.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace ptbench {

double norm_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * double{value};
  return std::sqrt(sum);
}

double distance_of(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

double share_of(double difference, double allowed) {
  if (difference == 0) return 0;
  const double share = difference / allowed;
  return std::isfinite(share) ? share : std::numeric_limits<double>::infinity();
}

}  // namespace ptbench
