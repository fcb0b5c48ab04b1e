#include "strategies/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/hash.h"
#include "src/comm/exchange.h"

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

void fail(VerificationRecord& record, std::string reason) {
  record.status = VerificationStatus::failed;
  record.reason = std::move(reason);
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
  fail(record, fmt::format("'{}' differs from the oracle's by {:.1e} of its norm, more than {:.0e}",
                           *record.worst_tensor, worst, bound));
}

/// FNV-1a with a value for a letter: by letters it would take as long as a small model's step. Any
/// single difference changes it.
std::uint64_t digest_of(std::span<const float> values) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  std::uint64_t hash = fnv1a("");
  for (const float value : values) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * kPrime;
  return hash;
}

}  // namespace

VerificationRecord verify(Strategy& tested, Strategy& oracle, const VerificationBounds& bounds,
                          Size steps, const std::function<bool()>& keep_going,
                          const std::function<std::optional<Size>()>& differing_rank) {
  VerificationRecord record;
  record.status = VerificationStatus::passed;
  record.tolerance = bounds.loss;
  record.steps = 0;
  record.max_relative_error = 0;
  for (Size step = 0; step < steps && (step == 0 || keep_going()); ++step) {
    const auto loss = static_cast<double>(tested.step());
    const std::optional<Size> differing = differing_rank ? differing_rank() : std::nullopt;
    const auto expected = static_cast<double>(oracle.step());
    ++*record.steps;
    if (!std::isfinite(expected)) {
      record.max_relative_error = std::nullopt;
      fail(record, fmt::format("{}: the oracle's loss of step {} is {}", kOracleDiverges, step + 1,
                               expected));
      return record;
    }
    if (differing) {
      record.max_relative_error = std::nullopt;  // only that they differ is known
      fail(record, fmt::format("after step {} the parameters of rank {} differ from rank 0's",
                               step + 1, *differing));
      return record;
    }
    const double error = std::abs(loss - expected) / std::max(1.0, std::abs(expected));
    // NaN is an error too.
    if (error <= *record.max_relative_error) continue;
    record.max_relative_error = std::isfinite(error) ? std::optional(error) : std::nullopt;
    if (error <= bounds.loss) continue;
    fail(record, fmt::format("the loss of step {} is {}, the oracle's {}: more than {:.0e} apart",
                             step + 1, loss, expected, bounds.loss));
    return record;
  }
  if (bounds.parameters > 0)
    compare_parameters(tested.replica().program(), oracle.replica().program(), bounds, record);
  return record;
}

std::optional<Size> first_differing_rank(Strategy& tested, Communicator& communicator,
                                         Communicator::Timeout timeout) {
  if (communicator.world_size() == 1) return std::nullopt;
  const std::uint64_t own = digest_of(tested.replica().program().parameters());
  std::vector<std::uint64_t> all(static_cast<std::size_t>(communicator.world_size()));
  exchange(communicator, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)),
           timeout);
  const auto differing =
      std::ranges::find_if(all, [&](std::uint64_t digest) { return digest != all.front(); });
  if (differing == all.end()) return std::nullopt;
  return std::distance(all.begin(), differing);
}

}  // namespace ptbench
