#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

// A linear layer that is so small that it costs what its launches cost: each pass is one, with a
// thread a result, and reads every operand about once from memory. Bound by latency.

/// What both passes read, in device memory. Weight and bias are rounded to T, the type of
/// activations (float, Bf16 or F16), where they are used; sums are f32.
template <class T>
struct SmallLinear {
  const T* input;       ///< batch × inputs
  const float* weight;  ///< outputs × inputs
  const float* bias;    ///< outputs
  T* output;            ///< batch × outputs; backward reads where a rectifier was open
  Size batch;
  Size inputs;
  Size outputs;
  bool relu;
};

/// output = max(0, input · weightᵀ + bias), or without the maximum. NaN stays.
template <class T>
void small_linear(const SmallLinear<T>& layer, cudaStream_t stream);

/// What the backward pass writes, but for the first.
template <class T>
struct SmallLinearGradients {
  const T* output_gradient;  ///< batch × outputs
  float* weight;
  float* bias;
  T* input;   ///< null where nobody needs it
  bool adds;  ///< to what `weight` and `bias` hold
};

/// Results of the forward pass.
template <class T>
__host__ __device__ Size results_of(const SmallLinear<T>& layer) {
  return layer.batch * layer.outputs;
}

/// Results of the backward pass: the elements of the weight's gradient, then of the bias's, then of
/// the input's.
template <class T>
__host__ __device__ Size results_of(const SmallLinear<T>& layer,
                                    const SmallLinearGradients<T>& gradients) {
  const Size inputs = gradients.input == nullptr ? 0 : layer.batch * layer.inputs;
  return (layer.inputs + 1) * layer.outputs + inputs;
}

/// All gradients of the layer.
template <class T>
void small_linear_gradients(const SmallLinear<T>& layer, const SmallLinearGradients<T>& gradients,
                            cudaStream_t stream);

}  // namespace ptbench::cuda
