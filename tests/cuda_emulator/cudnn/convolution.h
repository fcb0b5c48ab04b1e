#pragma once

#include <cstddef>
#include <cstdint>

// 2-D convolutions of f32 in host memory: as products of matrices whose rows are gathered from
// images. A sum of a gradient of filters is one of partial sums, as it may have millions of terms.

namespace ptbench::emulator {

/// Height or width of a convolution.
struct ConvolutionAxis {
  std::size_t size = 1;       ///< of the image
  std::size_t window = 1;     ///< of the filter
  std::size_t responses = 1;  ///< places of the filter
  std::size_t stride = 1;     ///< from one to the next
  std::size_t padding = 0;    ///< before the image's first
};

/// x[images][height][width][channels], filters w[filters][height][width][channels] and responses
/// y[images][height][width][filters], each without gaps.
struct ConvolutionShape {
  std::size_t images = 1;
  std::size_t channels = 1;
  std::size_t filters = 1;
  ConvolutionAxis vertical;
  ConvolutionAxis horizontal;

  [[nodiscard]] std::size_t pixels() const { return images * vertical.size * horizontal.size; }
  [[nodiscard]] std::size_t responses() const {
    return images * vertical.responses * horizontal.responses;
  }
  [[nodiscard]] std::size_t window() const { return vertical.window * horizontal.window; }
};

/// y = the responses of w to x: cross-correlation.
void convolve(const ConvolutionShape& shape, const float* x, const float* w, float* y);
/// dx, where y's gradient is dy.
void convolve_to_image(const ConvolutionShape& shape, const float* dy, const float* w, float* dx);
/// In which order the responses of a sum are added up.
enum class SumOrder : std::uint8_t { first_to_last, last_to_first };
/// dw, where y's gradient is dy.
void convolve_to_filters(const ConvolutionShape& shape, const float* x, const float* dy,
                         SumOrder order, float* dw);

}  // namespace ptbench::emulator
