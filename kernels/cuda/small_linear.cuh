#pragma once

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/small_linear.h"

// What a thread does of the passes of a small linear layer. Products are fused with sums on purpose:
// every kernel computes the same bits.
namespace ptbench::cuda {

/// A parameter as products take it.
template <class T>
__device__ float rounded(float value) {
  return widened(narrowed<T>(value));
}

template <class T>
__device__ void compute_result(const SmallLinear<T>& layer, Size result) {
  const T* x = layer.input + result / layer.outputs * layer.inputs;
  const Size out = result % layer.outputs;
  const float* w = layer.weight + out * layer.inputs;
  float sum = 0;
  for (Size in = 0; in < layer.inputs; ++in) sum = __fmaf_rn(widened(x[in]), rounded<T>(w[in]), sum);
  sum += rounded<T>(layer.bias[out]);
  layer.output[result] = narrowed<T>(layer.relu && sum < 0 ? 0 : sum);
}

/// The gradient in front of the rectifier; NaN opens it.
template <class T>
__device__ float open_gradient(const SmallLinear<T>& layer, const T* output_gradient, Size sample,
                               Size out) {
  const Size i = sample * layer.outputs + out;
  return layer.relu && widened(layer.output[i]) <= 0 ? 0 : widened(output_gradient[i]);
}

template <class T>
__device__ void compute_result(const SmallLinear<T>& layer,
                               const SmallLinearGradients<T>& gradients, Size result) {
  const auto gradient = [&](Size sample, Size out) {
    return open_gradient(layer, gradients.output_gradient, sample, out);
  };
  const Size weights = layer.inputs * layer.outputs;
  if (result < weights + layer.outputs) {
    const bool of_bias = result >= weights;
    const Size out = of_bias ? result - weights : result / layer.inputs;
    const Size in = result % layer.inputs;
    float sum = 0;
    for (Size sample = 0; sample < layer.batch; ++sample)
      sum = __fmaf_rn(gradient(sample, out),
                      of_bias ? 1.0F : widened(layer.input[sample * layer.inputs + in]), sum);
    float& to = of_bias ? gradients.bias[out] : gradients.weight[result];
    to = gradients.adds ? to + sum : sum;
    return;
  }
  result -= weights + layer.outputs;
  float sum = 0;
  for (Size out = 0; out < layer.outputs; ++out)
    sum = __fmaf_rn(gradient(result / layer.inputs, out),
                    rounded<T>(layer.weight[out * layer.inputs + result % layer.inputs]), sum);
  gradients.input[result] = narrowed<T>(sum);
}

}  // namespace ptbench::cuda
