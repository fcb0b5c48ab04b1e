#include "kernels/cuda/small_linear.cuh"
#include "src/device/cuda/check.h"
#include "src/device/cuda/grid_threads.h"

namespace ptbench::cuda {
namespace {

constexpr int kResults = 128;  // threads of a block

unsigned blocks_of(Size results) {
  return static_cast<unsigned>((results + kResults - 1) / kResults);
}

__device__ Size result_of_thread() {
  return number_of({.block = blockIdx.x, .block_threads = kResults, .thread = threadIdx.x});
}

template <class T>
__global__ void __launch_bounds__(kResults) small_linear_kernel(SmallLinear<T> layer) {
  const Size result = result_of_thread();
  if (result < results_of(layer)) compute_result(layer, result);
}

template <class T>
__global__ void __launch_bounds__(kResults)
    small_linear_gradients_kernel(SmallLinear<T> layer, SmallLinearGradients<T> gradients) {
  const Size result = result_of_thread();
  if (result < results_of(layer, gradients)) compute_result(layer, gradients, result);
}

}  // namespace

template <class T>
void small_linear(const SmallLinear<T>& layer, cudaStream_t stream) {
  small_linear_kernel<<<blocks_of(results_of(layer)), kResults, 0, stream>>>(layer);
  PTBENCH_CUDA_LAUNCHED(small_linear_kernel);
}

template <class T>
void small_linear_gradients(const SmallLinear<T>& layer, const SmallLinearGradients<T>& gradients,
                            cudaStream_t stream) {
  const unsigned blocks = blocks_of(results_of(layer, gradients));
  small_linear_gradients_kernel<<<blocks, kResults, 0, stream>>>(layer, gradients);
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
