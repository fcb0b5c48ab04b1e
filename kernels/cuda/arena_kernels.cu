// Passes over arenas besides the optimizer's.
#include "kernels/cuda/arena_kernels.h"
#include "kernels/cuda/lanes.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes>
__global__ void __launch_bounds__(kThreads)
    add_kernel(float* to, Size first, Size packs, Terms terms) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  Lanes<float, kLanes> sums = load<kLanes>(to + first, pack);
#pragma unroll  // what is indexed by a variable would lie in memory
  for (int term = 0; term < Terms::kMost; ++term) {
    if (term >= terms.count) break;
    const Lanes<float, kLanes> values = load<kLanes>(terms.values[term] + first, pack);
    for (int lane = 0; lane < kLanes; ++lane) sums.at[lane] += values.at[lane];
  }
  store(to + first, pack, sums);
}

/// Exponents of all ones are those of infinities and NaN.
__device__ bool is_finite(float value) {
  constexpr unsigned kExponent = 0x7f800000U;
  return (__float_as_uint(value) & kExponent) != kExponent;
}

template <int kLanes>
__global__ void __launch_bounds__(kThreads)
    find_kernel(const float* __restrict__ values, Size packs, unsigned* __restrict__ found) {
  constexpr unsigned kOne = 0x3f800000U;  // the bits of 1.0F
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  const Lanes<float, kLanes> loaded = load<kLanes>(values, pack);
  bool finite = true;
  for (const float value : loaded.at) finite = finite && is_finite(value);
  if (!finite) atomicOr(found, kOne);
}

}  // namespace

void add_terms(float* to, Size count, const Terms& terms, cudaStream_t stream) {
  bool aligned = are_aligned(to);
  for (int term = 0; term < terms.count; ++term)
    aligned = aligned && are_aligned(terms.values[term]);
  in_packs<float>(count, aligned, [&](auto lanes, Size first, Size packs) {
    add_kernel<lanes()><<<blocks_for(packs), kThreads, 0, stream>>>(to, first, packs, terms);
    PTBENCH_CUDA_LAUNCHED(add_kernel);
  });
}

void find_non_finite(const float* values, Size count, float* found, cudaStream_t stream) {
  in_packs<float>(count, are_aligned(values), [&](auto lanes, Size first, Size packs) {
    find_kernel<lanes()><<<blocks_for(packs), kThreads, 0, stream>>>(
        values + first, packs, reinterpret_cast<unsigned*>(found));
    PTBENCH_CUDA_LAUNCHED(find_kernel);
  });
}

}  // namespace ptbench::cuda
