#pragma once

#include <span>

namespace ptbench {

/// Euclidean, in double precision: ‖values‖.
[[nodiscard]] double norm_of(std::span<const float> values);
/// ‖a − b‖, of equal lengths.
[[nodiscard]] double distance_of(std::span<const float> a, std::span<const float> b);

/// The share of what is allowed that a difference takes: 0 of no difference, infinite where it is
/// no number.
[[nodiscard]] double share_of(double difference, double allowed);

}  // namespace ptbench
