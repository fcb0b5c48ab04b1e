#pragma once

#include <cstddef>

#include "kernels/cpu/avx512_vectors.h"
#include "kernels/cpu/winograd_f32_windows.h"
#include "src/base/size.h"

// The transforms of Winograd's F(4 × 4, 3 × 3) on 16 channels at a time (Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2016), as Toom and Cook's interpolation gives them
// for the points 0, ±5/8, ±3/2 and infinity. Of points that floats hold, these round little: the
// root mean square error is about four times that of direct sums (Barabasz et al., "Error Analysis
// and Improving the Accuracy of Winograd Convolution for Deep Neural Networks", 2020, on the
// choice). Tiles of 4 × 4 outputs come from patches of 6 × 6 inputs.
//
// Points come in pairs, whose halves share their even and odd parts: 0 with infinity, then p with
// −p. A transformed tile has 6 × 6 values, three pairs in each direction; some pairs of rows can be
// had without the others.
//
// Compiled into each of the files that include it. Only where __x86_64__ is defined.
#if defined(__x86_64__)
namespace ptbench::winograd_f32 {

constexpr Size kTile = 4;                   ///< outputs in each direction
constexpr Size kPatch = 6;                  ///< inputs in each direction, and points
constexpr Size kPairs = 3;                  ///< of points
constexpr Size kPoints = kPatch * kPatch;   ///< of a tile
constexpr Size kPointsOfPair = 2 * kPatch;  ///< of a pair of rows

/// p of the pairs ±p; the first pair is 0 and infinity. Below: the constants that go with them.
constexpr float kPoint[kPairs] = {0, 0.625F, 1.5F};
constexpr float square(float p) { return p * p; }
constexpr float kInner = square(kPoint[1]);
constexpr float kOuter = square(kPoint[2]);
/// The square of the pair that is not this one.
constexpr float other_square(int pair) { return pair == 1 ? kOuter : kInner; }
/// 1 / Π (p − q) over the other finite points q; the same for −p.
constexpr float scale(int pair) {
  if (pair == 0) return 1 / (kInner * kOuter);
  const float p = square(kPoint[pair]);
  return 1 / (2 * p * (p - other_square(pair)));
}

using avx512::times;
using avx512::times_plus;

/// What a transform gives at a pair of points: 0 and infinity, or p and −p.
struct Two {
  __m512 first;
  __m512 second;
};

/// even + p · odd and even − p · odd.
[[PTBENCH_AVX512]] static inline Two both_signs(__m512 even, float p, __m512 odd) {
  return {.first = times_plus(p, odd, even), .second = times_plus(-p, odd, even)};
}

/// Bᵀ·d: inputs.
struct PatchTransform {
  static constexpr std::size_t kSide = 6;

  template <int Pair>
  [[PTBENCH_AVX512]] static Two pair(const __m512 (&d)[kSide]) {
    if constexpr (Pair == 0)
      return {
          .first = times_plus(kInner * kOuter, d[0], times_plus(-kInner - kOuter, d[2], d[4])),
          .second = times_plus(kInner * kOuter, d[1], times_plus(-kInner - kOuter, d[3], d[5]))};
    else
      return both_signs(times_plus(-other_square(Pair), d[2], d[4]), kPoint[Pair],
                        times_plus(-other_square(Pair), d[1], d[3]));
  }
};

/// G·g: weights.
struct WeightTransform {
  static constexpr std::size_t kSide = 3;

  template <int Pair>
  [[PTBENCH_AVX512]] static Two pair(const __m512 (&g)[kSide]) {
    constexpr float p = kPoint[Pair];
    if constexpr (Pair == 0)
      return {.first = times(scale(0), g[0]), .second = g[2]};
    else
      return both_signs(times_plus(scale(Pair) * p * p, g[2], times(scale(Pair), g[0])),
                        scale(Pair) * p, g[1]);
  }
};

/// A·y: gradients of outputs.
struct GradientTransform {
  static constexpr std::size_t kSide = 4;

  template <int Pair>
  [[PTBENCH_AVX512]] static Two pair(const __m512 (&y)[kSide]) {
    constexpr float p = kPoint[Pair];
    if constexpr (Pair == 0)
      return {.first = y[0], .second = y[3]};
    else
      return both_signs(times_plus(p * p, y[2], y[0]), p, times_plus(p * p, y[3], y[1]));
  }
};

/// Both directions of a transform, of `Count` pairs of rows from pair `First` on: what is at (row,
/// column), rows counted from that pair's first, to `to` + (row · 6 + column) · `stride`. `Source`
/// gives columns.
template <class Transform, int First, int Count, class Source>
[[PTBENCH_AVX512]] static inline void transform(const Source& source, float* to, Size stride) {
  static_assert(First >= 0 && Count >= 1 && First + Count <= kPairs);
  constexpr auto kCount = static_cast<std::size_t>(Count);
  __m512 t[2 * kCount][Transform::kSide];
#pragma GCC unroll 6
  for (std::size_t column = 0; column < Transform::kSide; ++column) {
    __m512 d[Transform::kSide];
    source.column(static_cast<Size>(column), d);
    Two pairs[kCount];
    pairs[0] = Transform::template pair<First>(d);
    if constexpr (Count > 1) pairs[1] = Transform::template pair<First + 1>(d);
    if constexpr (Count > 2) pairs[2] = Transform::template pair<First + 2>(d);
#pragma GCC unroll 3
    for (int pair = 0; pair < Count; ++pair) {
      t[2 * pair][column] = pairs[pair].first;
      t[2 * pair + 1][column] = pairs[pair].second;
    }
  }
#pragma GCC unroll 6
  for (int row = 0; row < 2 * Count; ++row) {
    const Two pairs[kPairs] = {Transform::template pair<0>(t[row]),
                               Transform::template pair<1>(t[row]),
                               Transform::template pair<2>(t[row])};
#pragma GCC unroll 3
    for (Size pair = 0; pair < kPairs; ++pair) {
      float* place = to + (row * kPatch + 2 * pair) * stride;
      _mm512_storeu_ps(place, pairs[pair].first);
      _mm512_storeu_ps(place + stride, pairs[pair].second);
    }
  }
}

/// Sums and differences of the values at ±p.
struct Halves {
  __m512 sum;
  __m512 difference;
};
[[PTBENCH_AVX512]] static inline Halves halves(__m512 at_plus, __m512 at_minus) {
  return {.sum = _mm512_add_ps(at_plus, at_minus), .difference = _mm512_sub_ps(at_plus, at_minus)};
}

/// Aᵀ·m: outputs from products at all points.
[[PTBENCH_AVX512]] static inline void gather_outputs(const __m512 (&m)[6], __m512 (&y)[4]) {
  const Halves a = halves(m[2], m[3]);
  const Halves b = halves(m[4], m[5]);
  constexpr float p = kPoint[1];
  constexpr float q = kPoint[2];
  y[0] = _mm512_add_ps(m[0], _mm512_add_ps(a.sum, b.sum));
  y[1] = times_plus(p, a.difference, times(q, b.difference));
  y[2] = times_plus(kInner, a.sum, times(kOuter, b.sum));
  y[3] = times_plus(p * kInner, a.difference, times_plus(q * kOuter, b.difference, m[1]));
}

/// Gᵀ·m: gradients of weights from products at all points.
[[PTBENCH_AVX512]] static inline void gather_weights(const __m512 (&m)[6], __m512 (&g)[3]) {
  const Halves a = halves(m[2], m[3]);
  const Halves b = halves(m[4], m[5]);
  constexpr float p = kPoint[1];
  constexpr float q = kPoint[2];
  g[0] = times_plus(scale(0), m[0], times_plus(scale(1), a.sum, times(scale(2), b.sum)));
  g[1] = times_plus(scale(1) * p, a.difference, times(scale(2) * q, b.difference));
  g[2] = times_plus(scale(1) * kInner, a.sum, times_plus(scale(2) * kOuter, b.sum, m[1]));
}

/// What one pair of points adds to Gᵀ·m.
template <int Pair>
[[PTBENCH_AVX512]] static inline void gather_weights_of_pair(const Two& m, __m512 (&g)[3]) {
  if constexpr (Pair == 0) {
    g[0] = times(scale(0), m.first);
    g[1] = _mm512_setzero_ps();
    g[2] = m.second;
  } else {
    constexpr float p = kPoint[Pair];
    const Halves h = halves(m.first, m.second);
    g[0] = times(scale(Pair), h.sum);
    g[1] = times(scale(Pair) * p, h.difference);
    g[2] = times(scale(Pair) * p * p, h.sum);
  }
}

}  // namespace ptbench::winograd_f32

#endif
