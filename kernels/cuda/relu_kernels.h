#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

// Over `count` elements of device memory; spans begin at multiples of 16 bytes. Bound by memory.

/// output = max(0, input); NaN stays. Moves 8 bytes an element.
void rectify(const float* input, Size count, float* output, cudaStream_t stream);

/// input_gradient = output_gradient where `output` is above 0 or NaN, else 0. Moves 12 bytes an
/// element.
void rectify_gradient(const float* output, const float* output_gradient, Size count,
                      float* input_gradient, cudaStream_t stream);

}  // namespace ptbench::cuda
