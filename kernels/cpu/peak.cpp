#include "kernels/cpu/peak.h"

#include <algorithm>

#include "src/base/size.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ptbench {
namespace {

constexpr int kChains = 12;  // independent sums: more than latency × units of any current core
constexpr Size kIterations = 200'000;
constexpr int kRounds = 5;

#if defined(__x86_64__)

// Intrinsics, since a loop in plain C++ would measure the compiler's register allocation.

[[gnu::target("avx512f")]] float multiply_add_v4(Size iterations) {
  __m512 sums[kChains];
  for (auto& sum : sums) sum = _mm512_set1_ps(1.0F);
  const __m512 factor = _mm512_set1_ps(0.999F);
  const __m512 term = _mm512_set1_ps(0.001F);
  for (Size i = 0; i < iterations; ++i)
#pragma GCC unroll 12
    for (auto& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  __m512 total = sums[0];
  for (int chain = 1; chain < kChains; ++chain) total = _mm512_add_ps(total, sums[chain]);
  return _mm512_cvtss_f32(total);
}

[[gnu::target("avx2,fma")]] float multiply_add_v3(Size iterations) {
  __m256 sums[kChains];
  for (auto& sum : sums) sum = _mm256_set1_ps(1.0F);
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 term = _mm256_set1_ps(0.001F);
  for (Size i = 0; i < iterations; ++i)
#pragma GCC unroll 12
    for (auto& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  __m256 total = sums[0];
  for (int chain = 1; chain < kChains; ++chain) total = _mm256_add_ps(total, sums[chain]);
  return _mm256_cvtss_f32(total);
}

float multiply_add_baseline(Size iterations) {
  __m128 sums[kChains];
  for (auto& sum : sums) sum = _mm_set1_ps(1.0F);
  const __m128 factor = _mm_set1_ps(0.999F);
  const __m128 term = _mm_set1_ps(0.001F);
  for (Size i = 0; i < iterations; ++i)
#pragma GCC unroll 12
    for (auto& sum : sums) sum = _mm_add_ps(_mm_mul_ps(sum, factor), term);
  __m128 total = sums[0];
  for (int chain = 1; chain < kChains; ++chain) total = _mm_add_ps(total, sums[chain]);
  return _mm_cvtss_f32(total);
}

float multiply_add(Isa isa, Size iterations) {
  switch (isa) {
    case Isa::x86_64_v4: return multiply_add_v4(iterations);
    case Isa::x86_64_v3: return multiply_add_v3(iterations);
    case Isa::x86_64: break;
  }
  return multiply_add_baseline(iterations);
}

constexpr int lanes(Isa isa) {
  switch (isa) {
    case Isa::x86_64_v4: return 16;
    case Isa::x86_64_v3: return 8;
    case Isa::x86_64: break;
  }
  return 4;
}

#else

float multiply_add(Isa /*isa*/, Size iterations) {
  float sums[kChains] = {};
  for (Size i = 0; i < iterations; ++i)
    for (float& sum : sums) sum = sum * 0.999F + 0.001F;
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

constexpr int lanes(Isa /*isa*/) { return 1; }

#endif

}  // namespace

double measure_fma_peak(Team& team, int members, Isa isa, const Clock& clock) {
  const double operations = 2.0 * kChains * lanes(isa) * static_cast<double>(kIterations) * members;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = clock.now();
    team.run(members, [isa](int) {
      // Volatile: the result must be wanted by somebody.
      [[maybe_unused]] volatile float result = multiply_add(isa, kIterations);
    });
    best = std::max(best, operations / (clock.now() - start));
  }
  return best;
}

}  // namespace ptbench
