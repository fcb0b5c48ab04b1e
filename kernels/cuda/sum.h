#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

/// sum[0] = (Σ terms) / divisor, in double precision and a fixed order, rounded once. For short
/// lists: one block reads `count` · 4 bytes, and its latency is the bound.
void sum_in_double(const float* terms, Size count, double divisor, float* sum, cudaStream_t stream);

}  // namespace ptbench::cuda
