#pragma once

#include <algorithm>
#include <span>

#include "kernels/cpu/image.h"
#include "kernels/cpu/vector.h"

// Batch normalisation of pixels of one plane (image.h), `stride` elements apart. To be used inside
// simd::run. T is the element type of activations and gradients.
namespace ptbench::batch_norm {

/// A block's sums, in double: they grow by parts of a few pixels, each summed in float.
struct Sums {
  double first[kChannelBlock];
  double second[kChannelBlock];
};

/// The sums of a part.
struct PartSums {
  float first[kChannelBlock];
  float second[kChannelBlock];
};

/// What a block's channels have in common at all pixels.
template <class Vector>
struct Affine {
  Vector mean;
  Vector scale;  ///< γ/√(variance + ε)
  Vector shift;  ///< β
};

/// Before addition and ReLU. Backward repeats it to know where the ReLU was open, so it must be
/// this one function: the same operations, fused alike, give the same bits.
template <class Vector>
[[gnu::always_inline]] inline Vector normalized(const Vector& centered, const Affine<Vector>& a) {
  return centered * a.scale + a.shift;
}

constexpr Size kPart = 64;   ///< pixels that are summed in float
constexpr Size kFew = 2;     ///< pixels of a tile where blocks share cache lines
constexpr Size kAhead = 8;   ///< pixels that are fetched early; strided, hardware fetches few
constexpr Size kChains = 4;  ///< independent sums, for the latency of an addition

/// body(pixel, chain) for all pixels, round robin over the chains.
template <class Body>
[[gnu::always_inline]] inline void for_each_pixel(Size pixels, const Body& body) {
  Size pixel = 0;
  for (; pixel + kChains <= pixels; pixel += kChains)
#pragma GCC unroll 4
    for (Size chain = 0; chain < kChains; ++chain) body(pixel + chain, chain);
  if (pixel + 2 <= pixels) {
    body(pixel, Size{0});
    body(pixel + 1, Size{1});
    pixel += 2;
  }
  if (pixel < pixels) body(pixel, Size{0});
}

template <class Vector>
[[gnu::always_inline]] inline Vector total(const Vector (&chains)[kChains]) {
  return (chains[0] + chains[1]) + (chains[2] + chains[3]);
}

/// Adds Σ(x - start) and Σ(x - start)² to `sums`; `start` is 16 values near the data.
template <class Vector, class T>
[[gnu::always_inline]] inline void add_moments(const T* x, PixelStride<T> stride, Size pixels,
                                               const T* start, PartSums& sums) {
  const auto taken_off = simd::load<Vector>(start);
  Vector first[kChains] = {simd::load<Vector>(sums.first)};
  Vector second[kChains] = {simd::load<Vector>(sums.second)};
  for_each_pixel(pixels, [&](Size pixel, Size chain) __attribute__((always_inline)) {
    __builtin_prefetch(x + (pixel + kAhead) * stride);
    const auto centered = simd::load<Vector>(x + pixel * stride) - taken_off;
    first[chain] += centered;
    second[chain] += centered * centered;
  });
  simd::store(sums.first, total(first));
  simd::store(sums.second, total(second));
}

/// Adds Σ(x - origin) and Σ(x - origin)² of `pixels` pixels, whose moments are taken from `start`.
/// That is one of the values whose spread is wanted: so nothing cancels in the part, however far
/// the mean lies from zero.
template <class Vector, class T>
[[gnu::always_inline]] inline void add_part(const PartSums& part, Size pixels, const T* start,
                                            const T* origin, Sums& sums) {
  float starts[kChannelBlock];
  float origins[kChannelBlock];
  simd::store(starts, simd::load<Vector>(start));
  simd::store(origins, simd::load<Vector>(origin));
  const auto n = static_cast<double>(pixels);
  for (Size lane = 0; lane < kChannelBlock; ++lane) {
    const double offset = static_cast<double>(starts[lane]) - static_cast<double>(origins[lane]);
    const double sum = part.first[lane];
    sums.first[lane] += sum + n * offset;
    sums.second[lane] += part.second[lane] + offset * (2 * sum + n * offset);
  }
}

/// y = normalised x, + `other` where Add, then max(0, ·) where Relu; NaN stays NaN.
template <bool Add, bool Relu, class Vector, class T>
[[gnu::always_inline]] inline void normalize(const T* x, const T* other, PixelStride<T> stride,
                                             Size pixels, const Affine<Vector>& affine, T* y) {
#pragma GCC unroll 4
  for (Size pixel = 0; pixel < pixels; ++pixel) {
    const Size i = pixel * stride;
    __builtin_prefetch(x + i + kAhead * stride);
    if constexpr (Add) __builtin_prefetch(other + i + kAhead * stride);
    Vector value = normalized(simd::load<Vector>(x + i) - affine.mean, affine);
    if constexpr (Add) value += simd::load<Vector>(other + i);
    if constexpr (Relu) value = rectify(value);
    simd::store(y + i, value);
  }
}

/// How a ReLU's mask is known in backward: there is none, from x alone, or from y.
enum class Mask { none, input, output };

/// The gradient behind the ReLU at some pixels of a plane: the output gradients' sum, masked.
template <class T, Mask Known, bool Two>
struct MaskedGradient {
  const T* first = nullptr;
  const T* second = nullptr;  ///< where Two
  const T* output = nullptr;  ///< y, where Known is output

  /// The gradient at the pixels that begin `offset` elements further on.
  [[nodiscard]] MaskedGradient from(Size offset) const {
    return {first + offset, Two ? second + offset : nullptr,
            Known == Mask::output ? output + offset : nullptr};
  }

  [[gnu::always_inline]] void prefetch(Size i) const {
    __builtin_prefetch(first + i);
    if constexpr (Two) __builtin_prefetch(second + i);
    if constexpr (Known == Mask::output) __builtin_prefetch(output + i);
  }

  template <class Vector>
  [[gnu::always_inline]] Vector at(Size i, const Vector& centered,
                                   const Affine<Vector>& affine) const {
    auto gradient = simd::load<Vector>(first + i);
    if constexpr (Two) gradient += simd::load<Vector>(second + i);
    if constexpr (Known == Mask::input)
      gradient = rectify_gradient(normalized(centered, affine), gradient);
    if constexpr (Known == Mask::output)
      gradient = rectify_gradient(simd::load<Vector>(output + i), gradient);
    return gradient;
  }
};

/// Adds Σg and Σg·(x - mean) to `sums`, and writes g to `kept` unless that is null.
template <class Vector, class T, class Gradient>
[[gnu::always_inline]] inline void add_gradient_sums(const T* x, const Gradient& gradient,
                                                     PixelStride<T> stride, Size pixels,
                                                     const Affine<Vector>& affine, T* kept,
                                                     PartSums& sums) {
  Vector first[kChains] = {simd::load<Vector>(sums.first)};
  Vector second[kChains] = {simd::load<Vector>(sums.second)};
  for_each_pixel(pixels, [&](Size pixel, Size chain) __attribute__((always_inline)) {
    const Size i = pixel * stride;
    __builtin_prefetch(x + i + kAhead * stride);
    gradient.prefetch(i + kAhead * stride);
    const auto centered = simd::load<Vector>(x + i) - affine.mean;
    const Vector g = gradient.at(i, centered, affine);
    if (kept != nullptr) simd::store(kept + i, g);
    first[chain] += g;
    second[chain] += g * centered;
  });
  simd::store(sums.first, total(first));
  simd::store(sums.second, total(second));
}

/// Adds a part's sums of gradients.
[[gnu::always_inline]] inline void add_part(const PartSums& part, Sums& sums) {
  for (Size lane = 0; lane < kChannelBlock; ++lane) {
    sums.first[lane] += part.first[lane];
    sums.second[lane] += part.second[lane];
  }
}

/// dx = γ/√(variance + ε)·(g - offset - (x - mean)·slope).
template <class Vector, class T, class Gradient>
[[gnu::always_inline]] inline void input_gradient(const T* x, const Gradient& gradient,
                                                  PixelStride<T> stride, Size pixels,
                                                  const Affine<Vector>& affine,
                                                  const Vector& offset, const Vector& slope,
                                                  T* dx) {
#pragma GCC unroll 4
  for (Size pixel = 0; pixel < pixels; ++pixel) {
    const Size i = pixel * stride;
    __builtin_prefetch(x + i + kAhead * stride);
    gradient.prefetch(i + kAhead * stride);
    const auto centered = simd::load<Vector>(x + i) - affine.mean;
    const Vector g = gradient.at(i, centered, affine);
    simd::store(dx + i, affine.scale * ((g - offset) - centered * slope));
  }
}

}  // namespace ptbench::batch_norm
