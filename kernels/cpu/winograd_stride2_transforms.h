#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/avx512_vectors.h"
#include "kernels/cpu/winograd_f32_windows.h"
#include "src/base/size.h"

// The transforms of minimal filtering with 3 × 3 windows of stride 2, on 16 channels at a time.
//
// In one direction, every other input meets the first and the last tap only, which makes a filter
// of two taps and stride 1, and the inputs between them meet the middle tap only. The two taps are
// filtered by Winograd's F(4, 2) (Winograd, "Arithmetic Complexity of Computations", 1980), as Toom
// and Cook's interpolation gives it for the points 0, infinity, ±3/4 and 2: 5 multiplications for 4
// outputs. Of points that floats hold, these round little: the root mean square error is two to
// four times that of direct sums. The middle tap takes 4 multiplications. So 4 × 4 outputs come
// from patches of 9 × 9 inputs by 9 × 9 products: in each direction those at the 5 points and 4 of
// the middle tap, which share their weights. The gradient of x is the other way round: of 5 × 5
// gradients of y, 8 × 8.
//
// Compiled into each of the files that include it. Only where __x86_64__ is defined.
#if defined(__x86_64__)
namespace ptbench::winograd_stride2 {

using avx512::times;
using avx512::times_plus;
using winograd_f32::kBlock;
using winograd_f32::kWindow;

constexpr Size kTile = 4;      ///< outputs of the convolution in each direction
constexpr Size kPoints = 5;    ///< in each direction, of the outer taps
constexpr Size kProducts = 9;  ///< in each direction: at the points, then of the middle tap
constexpr Size kMatrices = 6;  ///< in each direction: weights of the points and the middle tap
constexpr Size kMiddle = 5;    ///< the first of the products, and the matrix, of the middle tap

/// The weights' row or column that the products' one takes.
constexpr Size matrix_of(Size product) { return std::min(product, kMiddle); }

/// Consecutive rows of products, and of the weights that they take: those at 0 and infinity, at the
/// other points, and of the middle tap. Each can be had without the others.
template <Size First, Size Count>
struct Rows {
  static constexpr Size kFirst = First;
  static constexpr Size kCount = Count;
  static constexpr Size kFirstMatrix = matrix_of(First);
  static constexpr Size kMatrixCount = matrix_of(First + Count - 1) - kFirstMatrix + 1;
};
using Ends = Rows<0, 2>;
using Inner = Rows<2, 3>;
using Middle = Rows<5, 4>;

/// The points are 0, infinity, kP, −kP and kQ.
constexpr float kP = 0.75F;
constexpr float kQ = 2;
constexpr float kP2 = kP * kP;
/// 1 / Π (p − q) over the other finite points q, of each finite point.
constexpr float kScaleZero = 1 / (kP2 * kQ);
constexpr float kScalePlus = 1 / (2 * kP2 * (kP - kQ));
constexpr float kScaleMinus = -1 / (2 * kP2 * (kP + kQ));
constexpr float kScaleQ = 1 / (kQ * (kQ * kQ - kP2));

/// Bᵀ·d: what x gives to the products. In the gradient of x's place: what the gradient of y gives.
template <bool Data>
struct PatchTransform {
  static constexpr std::size_t kSide = Data ? 5 : 9;
  static constexpr std::size_t kResults = 9;

  [[PTBENCH_AVX512]] static void apply(const __m512 (&d)[kSide], __m512 (&v)[kResults]) {
    constexpr std::size_t kStep = Data ? 1 : 2;
    const __m512 d1 = d[kStep];
    const __m512 d2 = d[2 * kStep];
    const __m512 d3 = d[3 * kStep];
    const __m512 even = times_plus(-kQ, d2, d3);
    const __m512 odd = times_plus(-kQ, d1, d2);
    v[0] = times_plus(kP2 * kQ, d[0], times_plus(-kP2, d1, even));
    v[1] = times_plus(kP2 * kQ, d1, times_plus(-kP2, d2, times_plus(-kQ, d3, d[4 * kStep])));
    v[2] = times_plus(kP, odd, even);
    v[3] = times_plus(-kP, odd, even);
    v[4] = times_plus(-kP2, d1, d3);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) v[5 + i] = d[Data ? i : 2 * i + 1];
  }
};

/// G·g: weights.
struct WeightTransform {
  static constexpr std::size_t kSide = 3;
  static constexpr std::size_t kResults = 6;

  [[PTBENCH_AVX512]] static void apply(const __m512 (&g)[kSide], __m512 (&v)[kResults]) {
    v[0] = times(kScaleZero, g[0]);
    v[1] = g[2];
    v[2] = times_plus(kScalePlus * kP, g[2], times(kScalePlus, g[0]));
    v[3] = times_plus(-kScaleMinus * kP, g[2], times(kScaleMinus, g[0]));
    v[4] = times_plus(kScaleQ * kQ, g[2], times(kScaleQ, g[0]));
    v[5] = g[1];
  }
};

/// A·y: gradients of outputs, for those of weights.
struct GradientTransform {
  static constexpr std::size_t kSide = 4;
  static constexpr std::size_t kResults = 9;

  [[PTBENCH_AVX512]] static void apply(const __m512 (&y)[kSide], __m512 (&v)[kResults]) {
    const __m512 even = times_plus(kP2, y[2], y[0]);
    const __m512 odd = times_plus(kP2, y[3], y[1]);
    v[0] = y[0];
    v[1] = y[3];
    v[2] = times_plus(kP, odd, even);
    v[3] = times_plus(-kP, odd, even);
    v[4] = times_plus(kQ, times_plus(kQ, times_plus(kQ, y[3], y[2]), y[1]), y[0]);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) v[5 + i] = y[i];
  }
};

/// Both directions of a transform, of `Count` rows from row `First` on: what is at (row, column),
/// rows counted from that one, to `to` + (row · columns + column) · `stride`. `Source` gives
/// columns.
template <class Transform, Size First, Size Count, class Source>
[[PTBENCH_AVX512]] static inline void transform(const Source& source, float* to, Size stride) {
  constexpr auto first = static_cast<std::size_t>(First);
  constexpr auto count = static_cast<std::size_t>(Count);
  __m512 t[count][Transform::kSide];
#pragma GCC unroll 9
  for (std::size_t column = 0; column < Transform::kSide; ++column) {
    __m512 d[Transform::kSide];
    source.column(static_cast<Size>(column), d);
    __m512 v[Transform::kResults];
    Transform::apply(d, v);
#pragma GCC unroll 4
    for (std::size_t row = 0; row < count; ++row) t[row][column] = v[first + row];
  }
#pragma GCC unroll 4
  for (std::size_t row = 0; row < count; ++row) {
    __m512 v[Transform::kResults];
    Transform::apply(t[row], v);
#pragma GCC unroll 9
    for (std::size_t column = 0; column < Transform::kResults; ++column)
      _mm512_storeu_ps(to + static_cast<Size>(row * Transform::kResults + column) * stride,
                       v[column]);
  }
}

/// What the products at ±p and q add to Aᵀ·m.
[[PTBENCH_AVX512]] static inline void gather_inner(__m512 at_plus, __m512 at_minus, __m512 at_q,
                                                   __m512 (&y)[4]) {
  const __m512 sum = _mm512_add_ps(at_plus, at_minus);
  const __m512 difference = _mm512_sub_ps(at_plus, at_minus);
  y[0] = _mm512_add_ps(sum, at_q);
  y[1] = times_plus(kP, difference, times(kQ, at_q));
  y[2] = times_plus(kP2, sum, times(kQ * kQ, at_q));
  y[3] = times_plus(kP2 * kP, difference, times(kQ * kQ * kQ, at_q));
}

/// Aᵀ·m of one row of products: 4 results of the convolution, or 8 of the gradient of x, where the
/// outer taps give the second of each two.
template <bool Data>
[[PTBENCH_AVX512]] static inline void gather(const __m512 (&m)[9], __m512 (&y)[Data ? 8 : 4]) {
  __m512 outer[4];
  gather_inner(m[2], m[3], m[4], outer);
  outer[0] = _mm512_add_ps(outer[0], m[0]);
  outer[3] = _mm512_add_ps(outer[3], m[1]);
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i)
    if constexpr (Data) {
      y[2 * i] = m[5 + i];
      y[2 * i + 1] = outer[i];
    } else {
      y[i] = _mm512_add_ps(outer[i], m[5 + i]);
    }
}

/// The gradients of the outer taps.
struct Taps {
  __m512 first;
  __m512 last;
};

/// What the products at ±p and q add to Gᵀ·m.
[[PTBENCH_AVX512]] static inline Taps gather_inner_weights(__m512 at_plus, __m512 at_minus,
                                                           __m512 at_q) {
  return {.first = times_plus(kScalePlus, at_plus,
                              times_plus(kScaleMinus, at_minus, times(kScaleQ, at_q))),
          .last = times_plus(kScalePlus * kP, at_plus,
                             times_plus(-kScaleMinus * kP, at_minus, times(kScaleQ * kQ, at_q)))};
}

/// Gᵀ·m: gradients of weights from products, those of the middle tap summed up.
[[PTBENCH_AVX512]] static inline void gather_weights(const __m512 (&m)[6], __m512 (&g)[3]) {
  const Taps inner = gather_inner_weights(m[2], m[3], m[4]);
  g[0] = times_plus(kScaleZero, m[0], inner.first);
  g[1] = m[5];
  g[2] = _mm512_add_ps(m[1], inner.last);
}

}  // namespace ptbench::winograd_stride2
#endif
