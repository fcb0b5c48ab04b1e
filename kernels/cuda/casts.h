#pragma once

#include <cuda_runtime_api.h>

#include "kernels/tensor.h"
#include "src/base/size.h"

namespace ptbench::cuda {

// Over `count` elements of device memory. 6 bytes an element are moved: bound by memory.

/// to = from, from float to Bf16 or F16 or back: rounded to the nearest, ties to even; NaN stays
/// NaN.
template <class From, class To>
void cast(const From* from, Size count, To* to, cudaStream_t stream);

}  // namespace ptbench::cuda
