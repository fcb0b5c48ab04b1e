#include "src/data/normalize.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr std::size_t kLevels = std::tuple_size_v<LevelTable>;
constexpr double kLargestLevel = 255;

/// How often each byte value occurs.
using Histogram = std::array<std::uint64_t, kLevels>;

std::size_t channel_of_plane(std::size_t plane, Size channels) {
  return plane % static_cast<std::size_t>(channels);
}

/// In this order of divisions the mean of equal levels is exactly theirs, and their deviation 0.
double mean_of(const Histogram& histogram, double count) {
  double sum = 0;
  for (std::size_t level = 0; level < kLevels; ++level)
    sum += static_cast<double>(histogram.at(level)) * static_cast<double>(level);
  return sum / count / kLargestLevel;
}

double deviation_of(const Histogram& histogram, double count, double mean) {
  double sum = 0;
  for (std::size_t level = 0; level < kLevels; ++level) {
    const double distance = static_cast<double>(level) / kLargestLevel - mean;
    sum += static_cast<double>(histogram.at(level)) * distance * distance;
  }
  return std::sqrt(sum / count);
}

}  // namespace

ChannelStatistics channel_statistics(std::span<const std::uint8_t> bytes, Size channels,
                                     Size pixels) {
  const auto plane_bytes = static_cast<std::size_t>(pixels);
  const std::size_t planes = bytes.size() / plane_bytes;
  ensure(planes > 0, "statistics are taken of at least one image");
  std::vector<Histogram> histograms(static_cast<std::size_t>(channels));
  for (std::size_t plane = 0; plane < planes; ++plane) {
    Histogram& histogram = histograms[channel_of_plane(plane, channels)];
    for (const std::uint8_t level : bytes.subspan(plane * plane_bytes, plane_bytes))
      ++histogram[level];
  }
  const double count =
      static_cast<double>(planes) / static_cast<double>(channels) * static_cast<double>(pixels);
  ChannelStatistics statistics;
  for (const Histogram& histogram : histograms) {
    const double mean = mean_of(histogram, count);
    statistics.mean.push_back(mean);
    statistics.standard_deviation.push_back(deviation_of(histogram, count, mean));
  }
  return statistics;
}

std::vector<LevelTable> level_tables(const ChannelStatistics& statistics) {
  std::vector<LevelTable> tables(statistics.mean.size());
  for (std::size_t channel = 0; channel < tables.size(); ++channel) {
    const double deviation = statistics.standard_deviation.at(channel);
    ensure(deviation > 0, "only channels that vary can be normalised");
    for (std::size_t level = 0; level < kLevels; ++level)
      tables[channel].at(level) = static_cast<float>(
          (static_cast<double>(level) / kLargestLevel - statistics.mean.at(channel)) / deviation);
  }
  return tables;
}

}  // namespace ptbench
