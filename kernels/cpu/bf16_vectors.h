#pragma once

#include <cstdint>

#include "kernels/cpu/avx512_vectors.h"
#include "kernels/tensor.h"

// Sixteen bf16 and their pairs in AVX-512 registers, for kernels that need AVX512_BF16 or AMX.
// Static, as each is compiled into its callers. Only where __x86_64__ is defined.
#if defined(__x86_64__)
// Every function that works on vectors carries the target; lambdas would not inherit it.
#define PTBENCH_BF16 gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,prfchw")

namespace ptbench::bf16 {

[[PTBENCH_BF16]] static inline __m512 widen(__m256i values) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}

[[PTBENCH_BF16]] static inline __m256i round_to_bf16(__m512 value) {
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value));
}

[[PTBENCH_BF16]] static inline __m256i load(const Bf16* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

[[PTBENCH_BF16]] static inline void store(Bf16* to, __m512 value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), round_to_bf16(value));
}

/// Sixteen pairs of a value of `first` and one of `second`: what products take.
[[PTBENCH_BF16]] static inline __m512i pair_up(__m256i first, __m256i second) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(first),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
}

}  // namespace ptbench::bf16
#endif
