#pragma once

#include <algorithm>
#include <limits>

#include "kernels/cpu/image.h"
#include "kernels/cpu/vector.h"
#include "kernels/spec.h"

// Pools of one plane (image.h), whose pixels are `stride` elements apart in x, y and the positions.
// To be used inside simd::run. T is the element type of activations, Index holds a position in a
// window, which counts in row-major order.
namespace ptbench::pool {

/// The part of one window that lies in the image.
struct Place {
  Size first = 0;  ///< pixel under the window's position 0; not in the image where that is padding
  Range rows;      ///< of the window
  Range columns;   ///< of the window
};

/// What every plane of a pool has in common.
struct Geometry {
  Size height;
  Size width;
  Size output_height;
  Size output_width;
  Window window;

  [[nodiscard]] Size area() const { return window.kernel_height * window.kernel_width; }
};

/// visit(output pixel, place) for every window of a plane.
template <class Visit>
[[gnu::always_inline]] inline void for_each_window(const Geometry& g, const Visit& visit) {
  const auto inside = [](Size start, Size kernel, Size size) {
    const Size begin = std::max<Size>(0, -start);
    return Range{begin, std::max(begin, std::min(kernel, size - start))};
  };
  for (Size row = 0; row < g.output_height; ++row) {
    const Size top = row * g.window.stride_height - g.window.padding_height;
    const Range rows = inside(top, g.window.kernel_height, g.height);
    for (Size column = 0; column < g.output_width; ++column) {
      const Size left = column * g.window.stride_width - g.window.padding_width;
      visit(row * g.output_width + column,
            Place{.first = top * g.width + left,
                  .rows = rows,
                  .columns = inside(left, g.window.kernel_width, g.width)});
    }
  }
}

/// Takes `value` where it is larger or NaN: of equal values the first stays, and NaN wins.
template <class Vector>
[[gnu::always_inline]] inline void take_larger(const Vector& value, float position, Vector& best,
                                               Vector& best_position) {
  const Vector here = Vector::all(position);
#pragma GCC unroll 4
  for (int i = 0; i < Vector::kCount; ++i) {
    const auto v = value.part[i];
    // g++ takes masks apart, element by element, if comparisons are combined or used twice. So what
    // could be `v > best` is `larger > best`, and the positions' mask of NaN, whose bits lie above
    // those of infinity, is the sign of a difference.
    using Integers = typename Vector::Integers;
    const Integers nan = (0x7f800000 - (reinterpret_cast<Integers>(v) & 0x7fffffff)) >> 31;
    const auto larger = v > best.part[i] ? v : best.part[i];
    const auto chosen = larger > best.part[i] ? here.part[i] : best_position.part[i];
    best_position.part[i] =
        reinterpret_cast<typename Vector::Part>((reinterpret_cast<Integers>(here.part[i]) & nan) |
                                                (reinterpret_cast<Integers>(chosen) & ~nan));
    best.part[i] = v == v ? larger : v;  // NOLINT(misc-redundant-expression)
  }
}

/// `lowest`: 16 values that every other beats; zeros in lanes of padding, which stay so even where
/// a window lies in padding altogether.
template <class Vector, class T, class Index>
[[gnu::always_inline]] inline void maximum(const Geometry& g, PixelStride<T> stride, const T* x,
                                           const float* lowest, T* y, Index* positions) {
  const auto start = simd::load<Vector>(lowest);
  for_each_window(g, [&](Size output, const Place& place) __attribute__((always_inline)) {
    const Size kernel_width = g.window.kernel_width;
    Vector best = start;
    // Positions as floats: exact up to 2^24, and they share the values' masks.
    Vector position =
        Vector::all(static_cast<float>(place.rows.begin * kernel_width + place.columns.begin));
    for (Size row = place.rows.begin; row < place.rows.end; ++row)
      for (Size column = place.columns.begin; column < place.columns.end; ++column)
        take_larger(simd::load<Vector>(x + (place.first + row * g.width + column) * stride),
                    static_cast<float>(row * kernel_width + column), best, position);
    simd::store(y + output * stride, best);
    float chosen[kChannelBlock];
    simd::store(chosen, position);
    for (Size lane = 0; lane < kChannelBlock; ++lane)
      positions[output * stride + lane] = static_cast<Index>(chosen[lane]);
  });
}

/// Adds to `dx`: floats, kChannelBlock a pixel.
template <class Vector, class T, class Index>
[[gnu::always_inline]] inline void maximum_gradient(const Geometry& g, PixelStride<T> stride,
                                                    const T* dy, const Index* positions,
                                                    float* dx) {
  for_each_window(g, [&](Size output, const Place& place) __attribute__((always_inline)) {
    const auto gradient = simd::load<Vector>(dy + output * stride);
    float chosen[kChannelBlock];
    for (Size lane = 0; lane < kChannelBlock; ++lane)
      chosen[lane] = static_cast<float>(positions[output * stride + lane]);
    const auto position = simd::load<Vector>(chosen);
    for (Size row = place.rows.begin; row < place.rows.end; ++row) {
      for (Size column = place.columns.begin; column < place.columns.end; ++column) {
        const auto here = static_cast<float>(row * g.window.kernel_width + column);
        float* to = dx + (place.first + row * g.width + column) * kChannelBlock;
        const Vector term = Vector::make([&](int i) __attribute__((always_inline)) {
          return position.part[i] == here ? gradient.part[i] : typename Vector::Part{};
        });
        simd::store(to, simd::load<Vector>(to) + term);
      }
    }
  });
}

/// Sums of rows are summed: short chains, and little rounding in large windows.
template <class Vector, class T>
[[gnu::always_inline]] inline void average(const Geometry& g, PixelStride<T> stride, const T* x,
                                           T* y) {
  const Vector area = Vector::all(static_cast<float>(g.area()));
  for_each_window(g, [&](Size output, const Place& place) __attribute__((always_inline)) {
    Vector sum = Vector::all(0);
    for (Size row = place.rows.begin; row < place.rows.end; ++row) {
      Vector row_sum = Vector::all(0);
      for (Size column = place.columns.begin; column < place.columns.end; ++column)
        row_sum += simd::load<Vector>(x + (place.first + row * g.width + column) * stride);
      sum += row_sum;
    }
    simd::store(y + output * stride, sum / area);
  });
}

/// Adds to `dx`: floats, kChannelBlock a pixel.
template <class Vector, class T>
[[gnu::always_inline]] inline void average_gradient(const Geometry& g, PixelStride<T> stride,
                                                    const T* dy, float* dx) {
  const Vector area = Vector::all(static_cast<float>(g.area()));
  for_each_window(g, [&](Size output, const Place& place) __attribute__((always_inline)) {
    const auto term = simd::load<Vector>(dy + output * stride) / area;
    for (Size row = place.rows.begin; row < place.rows.end; ++row) {
      for (Size column = place.columns.begin; column < place.columns.end; ++column) {
        float* to = dx + (place.first + row * g.width + column) * kChannelBlock;
        simd::store(to, simd::load<Vector>(to) + term);
      }
    }
  });
}

}  // namespace ptbench::pool
