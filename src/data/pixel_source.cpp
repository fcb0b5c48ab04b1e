#include "src/data/pixel_source.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "src/base/error.h"
#include "src/data/normalize.h"

namespace ptbench {
namespace {

constexpr std::size_t kImageRank = 3;

/// Dividing by 1 instead would make every input 0, and arithmetic on zeros is faster than on data.
void check_varies(const ChannelStatistics& statistics, const std::string& name) {
  const std::size_t channels = statistics.mean.size();
  for (std::size_t channel = 0; channel < channels; ++channel)
    if (statistics.standard_deviation[channel] <= 0)
      throw usage_error(
          fmt::format("every pixel{} of {} has the same value",
                      channels == 1 ? "" : fmt::format(" in channel {}", channel), name),
          "use real images, or --data synthetic");
}

}  // namespace

DataSource source_of_pixels(const Shape& sample_shape, PixelPart train, PixelPart test,
                            const std::string& train_name) {
  const Size channels = sample_shape.rank() == kImageRank ? sample_shape[0] : 1;
  ChannelStatistics statistics =
      channel_statistics(train.pixels, channels, sample_shape.elements() / channels);
  check_varies(statistics, train_name);
  return {
      .train = Dataset(sample_shape, std::move(train.pixels), statistics, std::move(train.labels)),
      .test = Dataset(sample_shape, std::move(test.pixels), statistics, std::move(test.labels)),
      .mean = std::move(statistics.mean),
      .standard_deviation = std::move(statistics.standard_deviation)};
}

}  // namespace ptbench
