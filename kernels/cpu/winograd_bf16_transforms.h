#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/bf16_vectors.h"
#include "kernels/cpu/image.h"

// The transforms of Winograd's F(2 × 2, 3 × 3) on 16 channels at a time, in fp32 between bf16
// images (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016). Tiles of 2 ×
// 2 outputs come from patches of 4 × 4 inputs. Static, as all of one file: each is compiled into
// its one caller. Only where __x86_64__ is defined.
#if defined(__x86_64__)
namespace ptbench::winograd {

/// Two tiles' values of 16 channels as pairs: what a dot product takes.
[[PTBENCH_BF16]] static inline __m512i pair_up(__m512 first, __m512 second) {
  return bf16::pair_up(bf16::round_to_bf16(first), bf16::round_to_bf16(second));
}

/// 16 channels of a window of `side` × `side` pixels of one plane; zeros outside of it.
template <std::size_t Side>
[[PTBENCH_BF16]] static inline void load_window(const Bf16* plane, Size height, Size width,
                                                Size top, Size left, __m512 (&values)[Side][Side]) {
  constexpr auto side = static_cast<Size>(Side);
  const bool inside = top >= 0 && left >= 0 && top + side <= height && left + side <= width;
  if (inside) {
    const Bf16* corner = plane + (top * width + left) * kChannelBlock;
#pragma GCC unroll 4
    for (Size row = 0; row < side; ++row)
#pragma GCC unroll 4
      for (Size column = 0; column < side; ++column)
        values[row][column] =
            bf16::widen(bf16::load(corner + (row * width + column) * kChannelBlock));
    return;
  }
  for (Size row = 0; row < side; ++row)
    for (Size column = 0; column < side; ++column) {
      const Size y = top + row;
      const Size x = left + column;
      const bool there = y >= 0 && x >= 0 && y < height && x < width;
      values[row][column] = there ? bf16::widen(bf16::load(plane + (y * width + x) * kChannelBlock))
                                  : _mm512_setzero_ps();
    }
}

/// Bᵀ·d·B: a patch of 4 × 4 inputs.
[[PTBENCH_BF16]] static inline void transform_patch(const __m512 (&d)[4][4], __m512 (&v)[4][4]) {
  __m512 t[4][4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[0][i] = _mm512_sub_ps(d[0][i], d[2][i]);
    t[1][i] = _mm512_add_ps(d[1][i], d[2][i]);
    t[2][i] = _mm512_sub_ps(d[2][i], d[1][i]);
    t[3][i] = _mm512_sub_ps(d[1][i], d[3][i]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i][0] = _mm512_sub_ps(t[i][0], t[i][2]);
    v[i][1] = _mm512_add_ps(t[i][1], t[i][2]);
    v[i][2] = _mm512_sub_ps(t[i][2], t[i][1]);
    v[i][3] = _mm512_sub_ps(t[i][1], t[i][3]);
  }
}

/// A·d·Aᵀ: gradients of 2 × 2 outputs.
[[PTBENCH_BF16]] static inline void spread_gradients(const __m512 (&d)[2][2], __m512 (&v)[4][4]) {
  const __m512 zero = _mm512_setzero_ps();
  __m512 t[4][2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    t[0][i] = d[0][i];
    t[1][i] = _mm512_add_ps(d[0][i], d[1][i]);
    t[2][i] = _mm512_sub_ps(d[0][i], d[1][i]);
    t[3][i] = _mm512_sub_ps(zero, d[1][i]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i][0] = t[i][0];
    v[i][1] = _mm512_add_ps(t[i][0], t[i][1]);
    v[i][2] = _mm512_sub_ps(t[i][0], t[i][1]);
    v[i][3] = _mm512_sub_ps(zero, t[i][1]);
  }
}

/// Aᵀ·m·A: the 2 × 2 outputs.
[[PTBENCH_BF16]] static inline void gather_outputs(const __m512 (&m)[4][4], __m512 (&y)[2][2]) {
  __m512 t[2][4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[0][i] = _mm512_add_ps(_mm512_add_ps(m[0][i], m[1][i]), m[2][i]);
    t[1][i] = _mm512_sub_ps(_mm512_sub_ps(m[1][i], m[2][i]), m[3][i]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    y[i][0] = _mm512_add_ps(_mm512_add_ps(t[i][0], t[i][1]), t[i][2]);
    y[i][1] = _mm512_sub_ps(_mm512_sub_ps(t[i][1], t[i][2]), t[i][3]);
  }
}

/// G·g·Gᵀ: weights of one window.
[[PTBENCH_BF16]] static inline void transform_weights(const __m512 (&g)[3][3], __m512 (&u)[4][4]) {
  const __m512 half = _mm512_set1_ps(0.5F);
  __m512 t[4][3];
#pragma GCC unroll 3
  for (int i = 0; i < 3; ++i) {
    const __m512 outer = _mm512_add_ps(g[0][i], g[2][i]);
    t[0][i] = g[0][i];
    t[1][i] = _mm512_mul_ps(half, _mm512_add_ps(outer, g[1][i]));
    t[2][i] = _mm512_mul_ps(half, _mm512_sub_ps(outer, g[1][i]));
    t[3][i] = g[2][i];
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 outer = _mm512_add_ps(t[i][0], t[i][2]);
    u[i][0] = t[i][0];
    u[i][1] = _mm512_mul_ps(half, _mm512_add_ps(outer, t[i][1]));
    u[i][2] = _mm512_mul_ps(half, _mm512_sub_ps(outer, t[i][1]));
    u[i][3] = t[i][2];
  }
}

/// Gᵀ·m·G: the gradient of a window's weights.
[[PTBENCH_BF16]] static inline void gather_weights(const __m512 (&m)[4][4], __m512 (&g)[3][3]) {
  const __m512 half = _mm512_set1_ps(0.5F);
  __m512 t[3][4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 both = _mm512_mul_ps(half, _mm512_add_ps(m[1][i], m[2][i]));
    t[0][i] = _mm512_add_ps(m[0][i], both);
    t[1][i] = _mm512_mul_ps(half, _mm512_sub_ps(m[1][i], m[2][i]));
    t[2][i] = _mm512_add_ps(m[3][i], both);
  }
#pragma GCC unroll 3
  for (int i = 0; i < 3; ++i) {
    const __m512 both = _mm512_mul_ps(half, _mm512_add_ps(t[i][1], t[i][2]));
    g[i][0] = _mm512_add_ps(t[i][0], both);
    g[i][1] = _mm512_mul_ps(half, _mm512_sub_ps(t[i][1], t[i][2]));
    g[i][2] = _mm512_add_ps(t[i][3], both);
  }
}

}  // namespace ptbench::winograd

#endif
