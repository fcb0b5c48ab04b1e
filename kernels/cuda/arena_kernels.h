#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

/// What one pass adds; more terms take more passes.
struct Terms {
  static constexpr int kMost = 8;
  const float* values[kMost];
  int count;
};

/// to += terms, one after the other, `count` elements each. Moves 8 bytes an element, and 4 more a
/// term: bound by memory.
void add_terms(float* to, Size count, const Terms& terms, cudaStream_t stream);

/// found[0] becomes 1 where one of `count` values is infinite or NaN, and else stays. Reads 4 bytes
/// an element: bound by memory.
void find_non_finite(const float* values, Size count, float* found, cudaStream_t stream);

}  // namespace ptbench::cuda
