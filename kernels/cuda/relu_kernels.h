#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

// Over `count` elements of device memory, of type T: float, Bf16 or F16. Bound by memory.

/// output = max(0, input); NaN stays. Moves 2 · sizeof(T) bytes an element.
template <class T>
void rectify(const T* input, Size count, T* output, cudaStream_t stream);

/// input_gradient = output_gradient where `output` is above 0 or NaN, else 0. Moves 3 · sizeof(T)
/// bytes an element.
template <class T>
void rectify_gradient(const T* output, const T* output_gradient, Size count, T* input_gradient,
                      cudaStream_t stream);

}  // namespace ptbench::cuda
