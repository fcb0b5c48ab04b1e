#include "kernels/cpu/peak.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/amx_tiles.h"
#include "src/base/size.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ptbench {
namespace {

constexpr int kChains = 12;  // independent sums: more than latency × units of any current core
constexpr Size kIterations = 200'000;
constexpr int kRounds = 5;

/// A loop of multiply-adds and the floating-point operations of one iteration.
struct Loop {
  float (*run)(Size iterations);
  double operations;
};

/// 1, but the compiler does not know: it would see that the chains are alike, or where they end.
float start() {
  volatile float one = 1.0F;
  return one;
}

#if defined(__x86_64__)

// Intrinsics, since a loop in plain C++ would measure the compiler's register allocation.

[[gnu::target("avx512f")]] float multiply_add_v4(Size iterations) {
  __m512 sums[kChains];
  for (auto& sum : sums) sum = _mm512_set1_ps(start());
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
  for (auto& sum : sums) sum = _mm256_set1_ps(start());
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
  for (auto& sum : sums) sum = _mm_set1_ps(start());
  const __m128 factor = _mm_set1_ps(0.999F);
  const __m128 term = _mm_set1_ps(0.001F);
  for (Size i = 0; i < iterations; ++i)
#pragma GCC unroll 12
    for (auto& sum : sums) sum = _mm_add_ps(_mm_mul_ps(sum, factor), term);
  __m128 total = sums[0];
  for (int chain = 1; chain < kChains; ++chain) total = _mm_add_ps(total, sums[chain]);
  return _mm_cvtss_f32(total);
}

/// Each lane of a sum takes two products.
[[gnu::target("avx512f,avx512bf16")]] float multiply_add_bf16(Size iterations) {
  __m512 sums[kChains];
  for (auto& sum : sums) sum = _mm512_set1_ps(start());
  const auto factors = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));  // 1
  for (Size i = 0; i < iterations; ++i)
#pragma GCC unroll 12
    for (auto& sum : sums) sum = _mm512_dpbf16_ps(sum, factors, factors);
  __m512 total = sums[0];
  for (int chain = 1; chain < kChains; ++chain) total = _mm512_add_ps(total, sums[chain]);
  return _mm512_cvtss_f32(total);
}

constexpr int kTileSums = 6;  // of eight tiles, two are factors

/// Each sum is 16×16 and takes 32 products an element. The factors are zeros: tiles do not
/// multiply them any faster.
[[gnu::target("amx-tile,amx-bf16")]] void multiply_add_tiles(Size iterations) {
  const amx::Tiles tiles;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (Size i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
}

Loop loop_of(Isa isa) {
  switch (isa) {
    case Isa::x86_64_v4: return {multiply_add_v4, 2.0 * kChains * 16};
    case Isa::x86_64_v3: return {multiply_add_v3, 2.0 * kChains * 8};
    case Isa::x86_64: break;
  }
  return {multiply_add_baseline, 2.0 * kChains * 4};
}

std::vector<Loop> bf16_loops_of(Isa isa) {
  if (isa != Isa::x86_64_v4) return {};
  const auto tiles = [](Size iterations) {
    multiply_add_tiles(iterations);
    return 0.0F;
  };
  switch (detect_bf16_products()) {
    case Bf16Products::amx: return {{tiles, 2.0 * kTileSums * 16 * 16 * 32}};
    case Bf16Products::avx512: return {{multiply_add_bf16, 2.0 * kChains * 32}, loop_of(isa)};
    case Bf16Products::none: break;
  }
  return {};
}

#else

float multiply_add(Size iterations) {
  float sums[kChains];
  for (float& sum : sums) sum = start();
  for (Size i = 0; i < iterations; ++i)
    for (float& sum : sums) sum = sum * 0.999F + 0.001F;
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

Loop loop_of(Isa /*isa*/) { return {multiply_add, 2.0 * kChains}; }

std::vector<Loop> bf16_loops_of(Isa /*isa*/) { return {}; }

#endif

/// The ways to multiply, none for what no CPU here multiplies.
std::vector<Loop> loops_of(Isa isa, ElementType type) {
  if (type == ElementType::f32) return {loop_of(isa)};
  return type == ElementType::bf16 ? bf16_loops_of(isa) : std::vector<Loop>();
}

/// Operations a second of so many members, in the best of a few rounds.
double best_rate(const Loop& loop, Team& team, int members, const Clock& clock) {
  const double operations = loop.operations * static_cast<double>(kIterations) * members;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = clock.now();
    team.run(members, [&loop](int) {
      // Volatile: the result must be wanted by somebody.
      [[maybe_unused]] volatile float result = loop.run(kIterations);
    });
    best = std::max(best, operations / (clock.now() - start));
  }
  return best;
}

}  // namespace

std::optional<double> measure_fma_peak(Team& team, int members, Isa isa, ElementType type,
                                       const Clock& clock) {
  std::optional<double> best;
  for (const Loop& loop : loops_of(isa, type))
    best = std::max(best.value_or(0), best_rate(loop, team, members, clock));
  return best;
}

}  // namespace ptbench
