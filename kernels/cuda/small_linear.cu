#include "kernels/cuda/element.cuh"
#include "kernels/cuda/small_linear.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

constexpr int kResults = 128;  // threads of a block

unsigned blocks_of(Size results) {
  return static_cast<unsigned>((results + kResults - 1) / kResults);
}

__device__ Size result_of_thread() { return Size{blockIdx.x} * kResults + threadIdx.x; }

/// A parameter as products take it.
template <class T>
__device__ float rounded(float value) {
  return widened(narrowed<T>(value));
}

template <class T>
__global__ void __launch_bounds__(kResults) small_linear_kernel(SmallLinear<T> layer) {
  const Size result = result_of_thread();
  if (result >= layer.batch * layer.outputs) return;
  const T* x = layer.input + result / layer.outputs * layer.inputs;
  const Size out = result % layer.outputs;
  const float* w = layer.weight + out * layer.inputs;
  float sum = 0;
  for (Size in = 0; in < layer.inputs; ++in) sum += widened(x[in]) * rounded<T>(w[in]);
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

/// Threads have the elements of the weight's gradient, then of the bias's, then of the input's.
template <class T>
__global__ void __launch_bounds__(kResults)
    small_linear_gradients_kernel(SmallLinear<T> layer, SmallLinearGradients<T> gradients) {
  Size result = result_of_thread();
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
      sum += gradient(sample, out) *
             (of_bias ? 1.0F : widened(layer.input[sample * layer.inputs + in]));
    float& to = of_bias ? gradients.bias[out] : gradients.weight[result];
    to = gradients.adds ? to + sum : sum;
    return;
  }
  result -= weights + layer.outputs;
  if (gradients.input == nullptr || result >= layer.batch * layer.inputs) return;
  float sum = 0;
  for (Size out = 0; out < layer.outputs; ++out)
    sum += gradient(result / layer.inputs, out) *
           rounded<T>(layer.weight[out * layer.inputs + result % layer.inputs]);
  gradients.input[result] = narrowed<T>(sum);
}

}  // namespace

template <class T>
void small_linear(const SmallLinear<T>& layer, cudaStream_t stream) {
  small_linear_kernel<<<blocks_of(layer.batch * layer.outputs), kResults, 0, stream>>>(layer);
  PTBENCH_CUDA_LAUNCHED(small_linear_kernel);
}

template <class T>
void small_linear_gradients(const SmallLinear<T>& layer, const SmallLinearGradients<T>& gradients,
                            cudaStream_t stream) {
  const Size parameters = (layer.inputs + 1) * layer.outputs;
  const Size inputs = gradients.input == nullptr ? 0 : layer.batch * layer.inputs;
  small_linear_gradients_kernel<<<blocks_of(parameters + inputs), kResults, 0, stream>>>(layer,
                                                                                         gradients);
  PTBENCH_CUDA_LAUNCHED(small_linear_gradients_kernel);
}

template void small_linear(const SmallLinear<float>&, cudaStream_t);
template void small_linear(const SmallLinear<Bf16>&, cudaStream_t);
template void small_linear(const SmallLinear<F16>&, cudaStream_t);
template void small_linear_gradients(const SmallLinear<float>&, const SmallLinearGradients<float>&,
                                     cudaStream_t);
template void small_linear_gradients(const SmallLinear<Bf16>&, const SmallLinearGradients<Bf16>&,
                                     cudaStream_t);
template void small_linear_gradients(const SmallLinear<F16>&, const SmallLinearGradients<F16>&,
                                     cudaStream_t);

}  // namespace ptbench::cuda
