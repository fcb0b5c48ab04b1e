#pragma once

#include "src/base/size.h"

namespace ptbench::cuda {

constexpr int kSummands = 256;  // threads of a block, each of which sums every 256th term

/// Σ terms in double precision and a fixed order, by all kSummands threads of a block; the first one
/// has it. Terms may have been written by other blocks, in front of a fence.
__device__ inline double sum_of_block(const volatile float* terms, Size count, int thread) {
  __shared__ double partial[kSummands];
  double own = 0;
  for (Size term = thread; term < count; term += kSummands) own += double{terms[term]};
  partial[thread] = own;
  __syncthreads();
  for (int half = kSummands / 2; half > 0; half /= 2) {
    if (thread < half) partial[thread] += partial[thread + half];
    __syncthreads();
  }
  return partial[0];
}

}  // namespace ptbench::cuda
