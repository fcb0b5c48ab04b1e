#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

/// What the backward pass of a linear layer or a convolution does first, on activations of type T:
/// float, Bf16 or F16. All of it row-major in device memory.
template <class T>
struct BiasGradient {
  const T* output_gradient;  ///< rows × columns
  const T* output;           ///< rows × columns of a rectified output; null: not rectified
  T* open_gradient;          ///< output_gradient where the rectifier was open, else 0
  float* bias;               ///< columns: the sums of open_gradient's columns
  Size rows;
  Size columns;
  bool adds;  ///< to what `bias` holds
};

/// One pass that masks and sums in f32: with a rectifier it moves 3 · rows · columns · sizeof(T)
/// bytes, else a third of that. A block has 32 columns, so that narrow layers are bound by latency,
/// and wide ones by memory.
template <class T>
void bias_gradient(const BiasGradient<T>& pass, cudaStream_t stream);

}  // namespace ptbench::cuda
