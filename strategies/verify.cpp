#include "strategies/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptbench {
namespace {

/// ‖a − b‖ / ‖b‖; infinite where only b is zero, and where anything is not finite.
double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  if (difference == 0) return 0;
  const double relative = std::sqrt(difference / norm);
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::infinity();
}

bool is_running_statistic(const std::string& name) {
  return name.ends_with("running_mean") || name.ends_with("running_var");
}

/// Fills in the worst tensor, and fails the record where it differs by more than its bound.
void compare_parameters(Program& tested, Program& oracle, const VerificationBounds& bounds,
                        VerificationRecord& record) {
  const double bound = bounds.parameters;
  const std::vector<NamedTensor> left = tested.export_tensors();
  const std::vector<NamedTensor> right = oracle.export_tensors();
  double worst = -1;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!bounds.running_statistics && is_running_statistic(left[i].name)) continue;
    const double difference = relative_difference(left[i].values, right[i].values);
    if (difference <= worst) continue;
    worst = difference;
    record.worst_tensor = left[i].name;
  }
  // In the scale of the losses' bound, so that the record holds one number.
  const double share = worst / bound * *record.tolerance;
  if (record.max_relative_error && share > *record.max_relative_error)
    record.max_relative_error = std::isfinite(share) ? std::optional(share) : std::nullopt;
  if (worst <= bound) return;
  record.status = VerificationStatus::failed;
  record.reason =
      fmt::format("'{}' differs from the oracle's by {:.1e} of its norm, more than {:.0e}",
                  *record.worst_tensor, worst, bound);
}

}  // namespace

VerificationRecord verify(Strategy& tested, Strategy& oracle, const VerificationBounds& bounds,
                          Size steps, const std::function<bool()>& keep_going) {
  VerificationRecord record;
  record.status = VerificationStatus::passed;
  record.tolerance = bounds.loss;
  record.steps = 0;
  record.max_relative_error = 0;
  for (Size step = 0; step < steps && (step == 0 || keep_going()); ++step) {
    const auto loss = static_cast<double>(tested.step());
    const auto expected = static_cast<double>(oracle.step());
    ++*record.steps;
    if (!std::isfinite(expected)) {
      record.status = VerificationStatus::failed;
      record.max_relative_error = std::nullopt;
      record.reason = fmt::format("training itself diverges: the oracle's loss of step {} is {}",
                                  step + 1, expected);
      return record;
    }
    const double error = std::abs(loss - expected) / std::max(1.0, std::abs(expected));
    // NaN is an error too.
    if (error <= *record.max_relative_error) continue;
    record.max_relative_error = std::isfinite(error) ? std::optional(error) : std::nullopt;
    if (error <= bounds.loss) continue;
    record.status = VerificationStatus::failed;
    record.reason =
        fmt::format("the loss of step {} is {}, the oracle's {}: more than {:.0e} apart", step + 1,
                    loss, expected, bounds.loss);
    return record;
  }
  if (bounds.parameters > 0)
    compare_parameters(tested.replica().program(), oracle.replica().program(), bounds, record);
  return record;
}

}  // namespace ptbench
