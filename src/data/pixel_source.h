#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/shape.h"
#include "src/data/dataset.h"

namespace ptbench {

/// The samples of one part (training or test) as bytes, with their labels.
struct PixelPart {
  std::vector<std::uint8_t> pixels;  ///< samples × sample elements
  std::vector<std::int32_t> labels;
};

/// Data of bytes, normalised with the training part's mean and standard deviation of each channel:
/// `sample_shape` is channels × rows × columns, any other rank has one channel. `source` is filled
/// in by the caller. Throws a usage error if a channel of the training part does not vary;
/// `train_name` is its name in messages.
[[nodiscard]] DataSource source_of_pixels(const Shape& sample_shape, PixelPart train,
                                          PixelPart test, const std::string& train_name);

}  // namespace ptbench
