#pragma once

#include <cstring>

#include "kernels/cpu/image.h"

namespace ptbench::conv2d {

/// Some channels of all samples of a native image: where they lie in it, and packed, as an image of
/// these channels alone.
class Channels {
 public:
  Channels(const ImageShape& image, Range channels, ElementType type)
      : planes_(image, type),
        batch_(image.batch),
        first_(channels.begin / kChannelBlock),
        type_(type) {
    const Size own = padded_channels(channels.size());
    const bool last = planes_.order == ImageOrder::channels_last;
    runs_ = last ? planes_.pixels : 1;
    run_ = bytes(last ? own : own * planes_.pixels);
    step_ = bytes(planes_.stride);
  }

  [[nodiscard]] std::size_t offset(Size sample) const {
    return bytes(planes_.offset(sample, first_));
  }
  void gather(const std::byte* image, std::byte* packed) const {
    for_each_run([&](std::size_t in_image, std::size_t in_packed) {
      std::memcpy(packed + in_packed, image + in_image, run_);
    });
  }
  void scatter(const std::byte* packed, std::byte* image) const {
    for_each_run([&](std::size_t in_image, std::size_t in_packed) {
      std::memcpy(image + in_image, packed + in_packed, run_);
    });
  }

 private:
  [[nodiscard]] std::size_t bytes(Size elements) const {
    return static_cast<std::size_t>(elements) * bytes_of(type_);
  }
  /// visit(where it begins in the image, where in the packed one) for all that lies side by side in
  /// both, in bytes.
  template <class Visit>
  void for_each_run(const Visit& visit) const {
    std::size_t in_packed = 0;
    for (Size sample = 0; sample < batch_; ++sample)
      for (Size run = 0; run < runs_; ++run, in_packed += run_)
        visit(offset(sample) + static_cast<std::size_t>(run) * step_, in_packed);
  }

  Planes planes_;
  Size batch_;
  Size first_;  ///< block
  ElementType type_;
  Size runs_;         ///< of a sample
  std::size_t run_;   ///< bytes
  std::size_t step_;  ///< bytes from run to run of a sample
};

}  // namespace ptbench::conv2d
