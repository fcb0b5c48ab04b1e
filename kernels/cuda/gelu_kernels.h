#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

// x·Φ(x) with the exact normal distribution function Φ, over `count` elements of device memory, of
// type T: float, Bf16 or F16. The error function takes some thirty operations an element: floats
// are bound by memory, and bf16 about as much by arithmetic.

/// output = input · Φ(input). Moves 2 · sizeof(T) bytes an element.
template <class T>
void gelu(const T* input, Size count, T* output, cudaStream_t stream);

/// input_gradient = output_gradient · (Φ(input) + input · φ(input)) with the normal density φ.
/// Moves 3 · sizeof(T) bytes an element.
template <class T>
void gelu_gradient(const T* input, const T* output_gradient, Size count, T* input_gradient,
                   cudaStream_t stream);

}  // namespace ptbench::cuda
