#pragma once

// Sixteen floats or words in AVX-512 registers, for kernels that are written for x86-64-v4 alone.
// Static, as each is compiled into its callers. Only where __x86_64__ is defined.
#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns falsely about its own header (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

// Every function that works on vectors carries the target; lambdas would not inherit it.
#define PTBENCH_AVX512 gnu::target("avx512f,avx512bw,avx512vl,avx512dq")

namespace ptbench::avx512 {

[[PTBENCH_AVX512]] static inline __m512 times(float factor, __m512 value) {
  return _mm512_mul_ps(_mm512_set1_ps(factor), value);
}
/// factor · value + addend.
[[PTBENCH_AVX512]] static inline __m512 times_plus(float factor, __m512 value, __m512 addend) {
  return _mm512_fmadd_ps(_mm512_set1_ps(factor), value, addend);
}

/// v[i][j] becomes v[j][i].
[[PTBENCH_AVX512]] static inline void transpose(__m512i (&v)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
  }
}

}  // namespace ptbench::avx512
#endif
