#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/tensor.h"
#include "src/base/size.h"

namespace ptbench {

/// How this backend keeps images: channels are padded with zeros to whole blocks of 16, so that
/// every loop works on whole vectors.
constexpr Size kChannelBlock = 16;

/// What follows what in an image's memory.
enum class ImageOrder : std::uint8_t {
  blocked,        ///< batch × blocks × height × width × 16, which oneDNN calls nChw16c
  channels_last,  ///< batch × height × width × padded channels, which it calls nhwc
};

/// Of every native image of this type in this process: channels last where oneDNN multiplies it by
/// AMX, whose kernels read no other order; else blocked.
[[nodiscard]] ImageOrder image_order(ElementType type);

[[nodiscard]] constexpr Size channel_blocks(Size channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock;
}
[[nodiscard]] constexpr Size padded_channels(Size channels) {
  return channel_blocks(channels) * kChannelBlock;
}

/// Elements of the image's memory, padding included.
[[nodiscard]] constexpr Size native_elements(const ImageShape& image) {
  return image.batch * padded_channels(image.channels) * image.pixels();
}

/// Where the planes of a native image lie, in elements. A plane is one block of 16 channels of one
/// sample; its pixels follow one another in row-major order, `stride` elements apart.
struct Planes {
  ImageOrder order;
  Size blocks;  ///< of a sample
  Size pixels;  ///< of a plane
  Size stride;  ///< kChannelBlock where blocks do not lie between one another

  Planes(const ImageShape& image, ImageOrder image_order)
      : order(image_order),
        blocks(channel_blocks(image.channels)),
        pixels(image.pixels()),
        stride(order == ImageOrder::blocked ? kChannelBlock : blocks * kChannelBlock) {}
  Planes(const ImageShape& image, ElementType type) : Planes(image, image_order(type)) {}

  [[nodiscard]] Size offset(Size sample, Size block) const {
    const Size before = order == ImageOrder::blocked ? block * pixels : block;
    return sample * blocks * pixels * kChannelBlock + before * kChannelBlock;
  }
};

/// Planes::stride for loops over elements of type T: known when they are compiled for float, as no
/// CPU has AMX products of it.
template <class T>
using PixelStride =
    std::conditional_t<std::is_same_v<T, float>, std::integral_constant<Size, kChannelBlock>, Size>;

template <class T>
[[nodiscard]] PixelStride<T> pixel_stride(const Planes& planes) {
  if constexpr (std::is_same_v<T, float>)
    return {};
  else
    return planes.stride;
}

}  // namespace ptbench
