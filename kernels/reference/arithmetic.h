#pragma once

#include <cmath>
#include <span>
#include <type_traits>

#include "kernels/operator.h"
#include "kernels/spec.h"
#include "kernels/tensor.h"
#include "src/base/size.h"

/// The arithmetic of every operator as plain loops, as close to its formula as code can be. Sums
/// are in double, each result is rounded once. T, the type of activations, is float, Bf16 or F16 in
/// the reference backend, and double where rounding is in the way: finite differences, and the
/// expected values of contract tests.
namespace ptbench::reference {

/// What parameters, statistics and buffers are kept in beside activations of type T.
template <class T>
using ParameterOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

[[nodiscard]] constexpr double widened(double value) { return value; }
[[nodiscard]] constexpr double widened(Bf16 value) { return double{to_float(value)}; }
[[nodiscard]] constexpr double widened(F16 value) { return double{to_float(value)}; }

/// `value` as an element of type T. To narrow types by way of float, as every machine that sums in
/// float does.
template <class T>
[[nodiscard]] constexpr T narrowed(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return from_float<T>(static_cast<float>(value));
}

/// A weight as it is multiplied with activations of type T.
template <class T>
[[nodiscard]] constexpr double multiplied_as(ParameterOf<T> weight) {
  return widened(narrowed<T>(weight));
}

/// Writes a sum, or adds it to the gradient of a parameter that is there.
template <class U>
constexpr void put_gradient(GradientMode mode, double sum, U& gradient) {
  const U rounded = narrowed<U>(sum);
  gradient = mode == GradientMode::add ? gradient + rounded : rounded;
}

/// max(0, x), but NaN stays NaN (as in PyTorch), so that a diverged run shows.
[[nodiscard]] constexpr double rectify(double value) { return value < 0 ? 0 : value; }

/// The gradient before a rectifier whose result was `output`; 0 at the kink, as in PyTorch.
[[nodiscard]] constexpr double rectify_gradient(double output, double output_gradient) {
  return output <= 0 ? 0 : output_gradient;
}

/// A span as a row-major matrix; outlives nothing, copies nothing.
template <class T>
class Matrix {
 public:
  Matrix(std::span<T> values, Size columns) : values_(values), columns_(columns) {}

  [[nodiscard]] T& operator()(Size row, Size column) const {
    return values_[static_cast<std::size_t>(row * columns_ + column)];
  }

 private:
  std::span<T> values_;
  Size columns_;
};

/// A span as row-major images, batch × channels × height × width.
template <class T>
class Images {
 public:
  Images(std::span<T> values, const ImageShape& shape) : values_(values), shape_(shape) {}

  [[nodiscard]] T& operator()(Size sample, Size channel, Size row, Size column) const {
    const Size plane = sample * shape_.channels + channel;
    return values_[static_cast<std::size_t>((plane * shape_.height + row) * shape_.width + column)];
  }
  /// The pixels of one channel of one sample.
  [[nodiscard]] std::span<T> plane(Size sample, Size channel) const {
    const auto pixels = static_cast<std::size_t>(shape_.pixels());
    return values_.subspan(static_cast<std::size_t>(sample * shape_.channels + channel) * pixels,
                           pixels);
  }

 private:
  std::span<T> values_;
  ImageShape shape_;
};

/// A place of the kernel and the pixel of the input on which it lies.
struct Tap {
  Size kernel_row = 0;
  Size kernel_column = 0;
  Size row = 0;
  Size column = 0;
};

/// Calls `use(tap)` in row-major order for each place of the kernel at output pixel (row, column)
/// that lies on a pixel of `input` and not on padding.
template <class Use>
void for_each_tap(const Window& window, const ImageShape& input, Size row, Size column, Use use) {
  for (Size ky = 0; ky < window.kernel_height; ++ky) {
    const Size y = row * window.stride_height - window.padding_height + ky;
    if (y < 0 || y >= input.height) continue;
    for (Size kx = 0; kx < window.kernel_width; ++kx) {
      const Size x = column * window.stride_width - window.padding_width + kx;
      if (x >= 0 && x < input.width)
        use(Tap{.kernel_row = ky, .kernel_column = kx, .row = y, .column = x});
    }
  }
}

/// Calls `use(row, column)` for each pixel of `image`, in row-major order.
template <class Use>
void for_each_pixel(const ImageShape& image, Use use) {
  for (Size row = 0; row < image.height; ++row)
    for (Size column = 0; column < image.width; ++column) use(row, column);
}

}  // namespace ptbench::reference
