#include "kernels/cpu/linear_pairs_packing.h"

#include <algorithm>

#include "kernels/cpu/bf16_vectors.h"
#include "src/base/error.h"

#if defined(__x86_64__)
namespace ptbench::linear_pairs {
namespace {

using avx512::transpose;
using bf16::pair_up;
using bf16::round_to_bf16;
using bf16::widen;
using products::kBlock;
using products::kPanelBlocks;

/// The lanes of a block that begins at `column` of `columns`.
inline __mmask16 lanes(Size column, Size columns) {
  const Size there = std::clamp<Size>(columns - column, 0, kBlock);
  return static_cast<__mmask16>((1U << static_cast<unsigned>(there)) - 1U);
}

[[PTBENCH_BF16]] inline void store_words(std::uint32_t* to, __m512i words) {
  _mm512_storeu_si512(to, words);
}

/// Zero where the ReLU that gave `output` was closed: at zero and below, but not at NaN.
[[PTBENCH_BF16]] inline __m256i mask(__m256i gradient, __m256i output) {
  const __m256i minus_zero = _mm256_set1_epi16(static_cast<std::int16_t>(0x8000));
  const __mmask16 zero = _mm256_testn_epi16_mask(output, output);
  const __mmask16 negative =
      _mm256_cmple_epu16_mask(_mm256_sub_epi16(output, minus_zero), _mm256_set1_epi16(0x7f80));
  return _mm256_maskz_mov_epi16(static_cast<__mmask16>(~(zero | negative)), gradient);
}

/// Sixteen values of a row from `column` on; zeros beyond its end and beyond the last row.
[[PTBENCH_BF16]] inline __m256i load(const Bf16* values, const Rows<const Bf16>& rows, Size row,
                                     Size column) {
  if (row >= rows.count) return _mm256_setzero_si256();
  return _mm256_maskz_loadu_epi16(lanes(column, rows.columns), values + row * rows.stride + column);
}

[[PTBENCH_BF16]] void round_rows(const float* sums, Size blocks, const Epilogue& epilogue,
                                 const Rows<Bf16>& to) {
  for (Size block = 0; block < blocks; ++block) {
    const Size column = block * kBlock;
    const __mmask16 there = lanes(column, to.columns);
    const __m512 zero = _mm512_setzero_ps();
    const __m512 bias = epilogue.bias == nullptr ? zero : _mm512_loadu_ps(epilogue.bias + column);
    for (Size row = 0; row < to.count; ++row) {
      __m512 value = _mm512_add_ps(_mm512_loadu_ps(sums + (row * blocks + block) * kBlock), bias);
      if (epilogue.relu)  // NaN stays
        value = _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(value, zero, _CMP_LT_OQ), zero);
      _mm256_mask_storeu_epi16(to.values + row * to.stride + column, there, round_to_bf16(value));
    }
  }
}

}  // namespace

[[PTBENCH_BF16]] void pack_weights(const Rows<const float>& weights, std::uint32_t* words) {
  for (Size row = 0; row < weights.count; row += 2) {
    const float* first = weights.values + row * weights.stride;
    const bool pair = row + 1 < weights.count;
    for (Size column = 0; column < weights.columns; column += kBlock, words += kBlock) {
      const __m512 low = _mm512_loadu_ps(first + column);
      const __m512 high =
          pair ? _mm512_loadu_ps(first + weights.stride + column) : _mm512_setzero_ps();
      store_words(words, pair_up(round_to_bf16(low), round_to_bf16(high)));
    }
  }
}

[[PTBENCH_BF16]] void transpose_weights(const products::Right& from, Size pairs, Size outputs,
                                        const Steps& to) {
  const __m512i count = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
                                         16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i firsts = _mm512_add_epi16(count, count);
  const __m512i seconds = _mm512_add_epi16(firsts, _mm512_set1_epi16(1));
  const bool wide = outputs > kBlock;
  __m512i rows[16];  // of each input, pairs of neighbouring outputs
#pragma GCC unroll 8
  for (Size pair = 0; pair < 8; ++pair) {
    const auto there = static_cast<__mmask16>(pair < pairs ? 0xffff : 0);
    const std::uint32_t* at = from.values + pair * from.step;
    __builtin_prefetch(at + 8 * from.step);  // the next inputs, half of them another core's
    __builtin_prefetch(at + 8 * from.step + kBlock);
    const __m512i low = _mm512_maskz_loadu_epi32(there, at);
    const __m512i high =
        _mm512_maskz_loadu_epi32(wide ? there : static_cast<__mmask16>(0), at + kBlock);
    rows[2 * pair] = _mm512_permutex2var_epi16(low, firsts, high);
    rows[2 * pair + 1] = _mm512_permutex2var_epi16(low, seconds, high);
  }
  transpose(rows);
#pragma GCC unroll 16
  for (Size pair = 0; pair < 16; ++pair)
    if (wide || pair < 8) store_words(to.words + pair * to.step, rows[pair]);
}

[[PTBENCH_BF16]] void pack_samples(const Rows<const Bf16>& from, Range blocks,
                                   std::uint32_t* words) {
  const Size pairs = (from.count + 1) / 2;
  for (Size pair = 0; pair < pairs; ++pair)
    for (Size block = blocks.begin; block < blocks.end; ++block) {
      std::uint32_t* to = words + (block * pairs + pair) * kBlock;
      __builtin_prefetch(to + kBlock, 1);  // the next pair's
      store_words(to, pair_up(load(from.values, from, 2 * pair, block * kBlock),
                              load(from.values, from, 2 * pair + 1, block * kBlock)));
    }
}

[[PTBENCH_BF16]] void pack_inputs(const Rows<const Bf16>& from, Range blocks,
                                  std::uint32_t* words) {
  const Size pairs = (from.count + 1) / 2;
  for (Size begin = 0; begin < pairs; begin += kBlock)
    for (Size block = blocks.begin; block < blocks.end; ++block) {
      const __mmask16 columns = lanes(block * kBlock, from.columns);
      __m512i rows[kBlock];
      const Bf16* at = from.values + 2 * begin * from.stride + block * kBlock;
#pragma GCC unroll 16
      for (Size pair = 0; pair < kBlock; ++pair, at += 2 * from.stride) {
        const Size sample = 2 * (begin + pair);
        const auto there = [&](Size row) { return row < from.count ? columns : __mmask16{0}; };
        rows[pair] = pair_up(_mm256_maskz_loadu_epi16(there(sample), at),
                             _mm256_maskz_loadu_epi16(there(sample + 1), at + from.stride));
      }
      transpose(rows);
      std::uint32_t* to = words + block * kBlock * pairs + begin;
      const __mmask16 stored = lanes(begin, pairs);
#pragma GCC unroll 16
      for (Size column = 0; column < kBlock; ++column)
        _mm512_mask_storeu_epi32(to + column * pairs, stored, rows[column]);
    }
}

[[PTBENCH_BF16]] void pack_gradient(const Rows<const Bf16>& gradient, const Bf16* output,
                                    Size blocks, const GradientPacks& to) {
  constexpr Size kAhead = 8;  // rows that are asked for early: hardware does not foresee them
  __m512 sums[kPanelBlocks];
  for (auto& sum : sums) sum = _mm512_setzero_ps();
  for (Size row = 0; row < gradient.count; row += 2) {
    std::uint32_t* words = to.pairs.words + row / 2 * to.pairs.step;
    for (Size block = 0; block < blocks; ++block) {
      const __mmask16 there = lanes(block * kBlock, gradient.columns);
      __m256i values[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
      __builtin_prefetch(words + kAhead / 2 * to.pairs.step + block * kBlock, 1);
      for (Size i = 0; i < std::min<Size>(2, gradient.count - row); ++i) {
        const Size at = (row + i) * gradient.stride + block * kBlock;
        __builtin_prefetch(gradient.values + at + kAhead * gradient.stride);
        values[i] = _mm256_maskz_loadu_epi16(there, gradient.values + at);
        if (output != nullptr) {
          __builtin_prefetch(output + at + kAhead * gradient.stride);
          values[i] = mask(values[i], _mm256_maskz_loadu_epi16(there, output + at));
        }
        sums[block] = _mm512_add_ps(sums[block], widen(values[i]));
        if (to.rows.values == nullptr) continue;
        Bf16* row_to = to.rows.values + (row + i) * to.rows.stride + block * kBlock;
        __builtin_prefetch(row_to + kAhead * to.rows.stride, 1);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(row_to), values[i]);
      }
      store_words(words + block * kBlock, pair_up(values[0], values[1]));
    }
  }
  for (Size block = 0; block < blocks; ++block) {
    float* bias = to.bias + block * kBlock;
    if (to.adds) sums[block] = _mm512_add_ps(_mm512_loadu_ps(bias), sums[block]);
    _mm512_storeu_ps(bias, sums[block]);
  }
}

void pad_rows(const Rows<const Bf16>& from, const Rows<Bf16>& to) {
  for (Size row = 0; row < to.count; ++row) {
    Bf16* end =
        std::copy_n(from.values + row * from.stride, from.columns, to.values + row * to.stride);
    std::fill_n(end, to.columns - from.columns, Bf16{});
  }
}

void multiply_rounded(products::MultiplyPanel multiply, Size steps, const products::Left& left,
                      const products::Right& right, Size blocks, const Epilogue& epilogue,
                      const Rows<Bf16>& to) {
  constexpr Size kRowsAtOnce = 64;  // whose sums stay in the nearest cache
  alignas(64) float sums[kRowsAtOnce * kPanelBlocks * kBlock];
  for (Size begin = 0; begin < to.count; begin += kRowsAtOnce) {
    const Size rows = std::min(kRowsAtOnce, to.count - begin);
    multiply({.rows = rows, .blocks = blocks, .steps = steps, .stride = blocks * kBlock},
             {left.values + begin * left.row, left.row, left.step}, right, sums);
    round_rows(sums, blocks, epilogue,
               {to.values + begin * to.stride, rows, to.columns, to.stride});
  }
}

}  // namespace ptbench::linear_pairs

#undef PTBENCH_BF16
#else

namespace ptbench::linear_pairs {

void pack_weights(const Rows<const float>& /*weights*/, std::uint32_t* /*words*/) {
  throw Defect("bf16 products are x86's");
}
void transpose_weights(const products::Right& /*from*/, Size /*pairs*/, Size /*outputs*/,
                       const Steps& /*to*/) {
  throw Defect("bf16 products are x86's");
}
void pack_samples(const Rows<const Bf16>& /*from*/, Range /*blocks*/, std::uint32_t* /*words*/) {
  throw Defect("bf16 products are x86's");
}
void pack_gradient(const Rows<const Bf16>& /*gradient*/, const Bf16* /*output*/, Size /*blocks*/,
                   const GradientPacks& /*to*/) {
  throw Defect("bf16 products are x86's");
}
void pad_rows(const Rows<const Bf16>& /*from*/, const Rows<Bf16>& /*to*/) {
  throw Defect("bf16 products are x86's");
}
void pack_inputs(const Rows<const Bf16>& /*from*/, Range /*blocks*/, std::uint32_t* /*words*/) {
  throw Defect("bf16 products are x86's");
}
void multiply_rounded(products::MultiplyPanel /*multiply*/, Size /*steps*/,
                      const products::Left& /*left*/, const products::Right& /*right*/,
                      Size /*blocks*/, const Epilogue& /*epilogue*/, const Rows<Bf16>& /*to*/) {
  throw Defect("bf16 products are x86's");
}

}  // namespace ptbench::linear_pairs

#endif
