#pragma once

#include <cuda_runtime_api.h>

#include "kernels/tensor.h"
#include "src/base/size.h"

namespace ptbench::cuda {

// Over `count` elements of device memory. 6 bytes an element are moved: bound by memory.

/// to = from, each rounded to the nearest, ties to even; NaN stays NaN.
void round_to_bf16(const float* from, Size count, Bf16* to, cudaStream_t stream);

/// to = from, exactly.
void widen_bf16(const Bf16* from, Size count, float* to, cudaStream_t stream);

}  // namespace ptbench::cuda
