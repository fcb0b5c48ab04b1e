#pragma once

#include "kernels/tensor.h"
#include "src/base/size.h"

namespace ptbench {

/// How this backend keeps images: batch × blocks of 16 channels × height × width × 16, which oneDNN
/// calls nChw16c. Channels are padded with zeros to whole blocks, so that every loop works on whole
/// vectors.
constexpr Size kChannelBlock = 16;

[[nodiscard]] constexpr Size channel_blocks(Size channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock;
}

/// Elements of the image's memory, padding included.
[[nodiscard]] constexpr Size native_elements(const ImageShape& image) {
  return image.batch * channel_blocks(image.channels) * image.pixels() * kChannelBlock;
}

/// Where the pixels of one sample and one block of channels begin; the pixels follow one another,
/// 16 elements each.
[[nodiscard]] constexpr Size plane_offset(const ImageShape& image, Size sample, Size block) {
  return (sample * channel_blocks(image.channels) + block) * image.pixels() * kChannelBlock;
}

}  // namespace ptbench
