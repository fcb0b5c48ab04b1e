#pragma once

#include <span>

namespace ptbench {

/// Euclidean, in double precision: ‖values‖.
[[nodiscard]] double norm_of(std::span<const float> values);
/// ‖a − b‖, of equal lengths.
[[nodiscard]] double distance_of(std::span<const float> a, std::span<const float> b);

}  // namespace ptbench
