#pragma once

#include <array>
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

/// What each byte value of one channel becomes.
using LevelTable = std::array<float, 256>;

/// (x / 255 - mean) / standard deviation of every level x of each channel, rounded once. Every
/// standard deviation must be positive.
[[nodiscard]] std::vector<LevelTable> level_tables(const ChannelStatistics& statistics);

}  // namespace ptbench
