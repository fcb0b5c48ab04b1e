#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// Mean and population standard deviation of x / 255 in each channel of a set of images.
struct ChannelStatistics {
  std::vector<double> mean;
  std::vector<double> standard_deviation;
};

/// `bytes`: samples × channels × pixels, at least one sample. Exact up to the last rounding.
[[nodiscard]] ChannelStatistics channel_statistics(std::span<const std::uint8_t> bytes,
                                                   Size channels, Size pixels);

/// (x / 255 - mean) / standard deviation of the same layout, each value rounded once. Every
/// standard deviation must be positive.
[[nodiscard]] std::vector<float> normalize(std::span<const std::uint8_t> bytes, Size channels,
                                           Size pixels, const ChannelStatistics& statistics);

}  // namespace ptbench
