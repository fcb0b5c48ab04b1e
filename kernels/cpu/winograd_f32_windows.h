#pragma once

#include <cstddef>

#include "kernels/cpu/avx512_vectors.h"
#include "kernels/cpu/image.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

// What the transforms of Winograd's filtering read, column by column, 16 channels at a time.
//
// Compiled into each of the files that include it. Only where __x86_64__ is defined.
#if defined(__x86_64__)
namespace ptbench::winograd_f32 {

constexpr Size kWindow = 3;  ///< taps in each direction
constexpr Size kTaps = kWindow * kWindow;
constexpr Size kBlock = kChannelBlock;                  ///< floats of a vector
constexpr Size kWeightBlock = kTaps * kBlock * kBlock;  ///< of 16 inputs and 16 outputs

/// Floats from what lies at one point to what lies at the next, so that there is room for `size`. A
/// transform writes to all points in turn: at a distance of a power of two, they would all want the
/// same few lines of the nearest cache.
constexpr Size spaced(Size size) { return size + kBlock; }

/// A tile's window of one plane of an image, zeros outside of it.
class PlaneWindow {
 public:
  /// `top` and `left`: of the window, perhaps outside of the plane.
  PlaneWindow(const float* plane, const ImageShape& image, Size top, Size left)
      : plane_(plane), height_(image.height), width_(image.width), top_(top), left_(left) {}

  template <std::size_t Side>
  [[PTBENCH_AVX512]] void column(Size index, __m512 (&values)[Side]) const {
    constexpr auto side = static_cast<Size>(Side);
    const Size x = left_ + index;
    if (top_ >= 0 && top_ + side <= height_ && x >= 0 && x < width_) {
      const float* first = plane_ + (top_ * width_ + x) * kChannelBlock;
#pragma GCC unroll 9
      for (Size row = 0; row < side; ++row)
        values[row] = _mm512_loadu_ps(first + row * width_ * kChannelBlock);
      return;
    }
#pragma GCC unroll 9
    for (Size row = 0; row < side; ++row) {
      const Size y = top_ + row;
      const bool there = y >= 0 && x >= 0 && y < height_ && x < width_;
      values[row] =
          there ? _mm512_loadu_ps(plane_ + (y * width_ + x) * kChannelBlock) : _mm512_setzero_ps();
    }
  }

 private:
  const float* plane_;
  Size height_;
  Size width_;
  Size top_;
  Size left_;
};

/// Windows of 16 input channels for 16 output channels, taken for one input channel at a time;
/// turned by half a turn where the gradient of x is computed.
class WindowColumns {
 public:
  WindowColumns(const float* block, Size channel, bool turned)
      : first_(block + channel * kBlock + (turned ? (kTaps - 1) * kTap : 0)),
        step_(turned ? -kTap : kTap) {}

  [[PTBENCH_AVX512]] void column(Size index, __m512 (&values)[3]) const {
#pragma GCC unroll 3
    for (Size row = 0; row < kWindow; ++row)
      values[row] = _mm512_loadu_ps(first_ + (row * kWindow + index) * step_);
  }

 private:
  static constexpr Size kTap = kBlock * kBlock;
  const float* first_;
  Size step_;
};

/// These taps of a block of weights with inputs in the place of outputs.
[[PTBENCH_AVX512]] static inline void exchange_channels(const float* block, Range taps, float* to) {
  for (Size tap = taps.begin; tap < taps.end; ++tap) {
    __m512i rows[kBlock];
#pragma GCC unroll 16
    for (Size i = 0; i < kBlock; ++i)
      rows[i] = _mm512_loadu_si512(block + (tap * kBlock + i) * kBlock);
    avx512::transpose(rows);
#pragma GCC unroll 16
    for (Size i = 0; i < kBlock; ++i)
      _mm512_storeu_si512(to + (tap * kBlock + i) * kBlock, rows[i]);
  }
}

}  // namespace ptbench::winograd_f32
#endif
