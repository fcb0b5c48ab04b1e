#pragma once

#include <cstring>

#include "kernels/cpu/image.h"

namespace ptbench::conv2d {

/// Some channels of all samples of a native image: where they lie in it, and packed.
class Channels {
 public:
  Channels(const ImageShape& image, Range channels, ElementType type)
      : image_(image),
        first_(channels.begin / kChannelBlock),
        row_(static_cast<std::size_t>(channel_blocks(channels.size()) * image.pixels() *
                                      kChannelBlock) *
             bytes_of(type)),
        type_(type) {}

  [[nodiscard]] std::size_t offset(Size sample) const {
    return static_cast<std::size_t>(plane_offset(image_, sample, first_)) * bytes_of(type_);
  }
  void gather(const std::byte* image, std::byte* packed) const {
    for (Size sample = 0; sample < image_.batch; ++sample, packed += row_)
      std::memcpy(packed, image + offset(sample), row_);
  }
  void scatter(const std::byte* packed, std::byte* image) const {
    for (Size sample = 0; sample < image_.batch; ++sample, packed += row_)
      std::memcpy(image + offset(sample), packed, row_);
  }

 private:
  ImageShape image_;
  Size first_;       ///< block
  std::size_t row_;  ///< bytes of one sample's
  ElementType type_;
};

}  // namespace ptbench::conv2d
