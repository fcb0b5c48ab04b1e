// The gradient of a linear layer's bias: sums over the samples, with the rectifier's mask in the
// same pass. A thread has one column, a warp 32 neighbours, so that each of its loads is one line.
#include "kernels/cuda/bias_gradient.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/warp.cuh"
#include "src/device/cuda/check.h"
#include "src/device/cuda/grid_threads.h"

namespace ptbench::cuda {
namespace {

constexpr int kRowsAtOnce = 16;  // warps of a block; warp w has the rows w, w + 16, …

template <bool kRectified, class T>
__global__ void __launch_bounds__(kWarp* kRowsAtOnce) bias_gradient_kernel(BiasGradient<T> pass) {
  __shared__ float partial[kRowsAtOnce][kWarp];
  const int lane = static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.y);
  const Size column =
      number_of({.block = blockIdx.x, .block_threads = kWarp, .thread = threadIdx.x});
  float sum = 0;
  if (column < pass.columns) {
    for (Size row = warp; row < pass.rows; row += kRowsAtOnce) {
      const Size i = row * pass.columns + column;
      T gradient = pass.output_gradient[i];
      if constexpr (kRectified) {
        if (widened(pass.output[i]) <= 0) gradient = narrowed<T>(0);  // NaN opens
        pass.open_gradient[i] = gradient;
      }
      sum += widened(gradient);
    }
  }
  partial[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= pass.columns) return;
  float total = partial[0][lane];
  for (int other = 1; other < kRowsAtOnce; ++other) total += partial[other][lane];
  pass.bias[column] = pass.adds ? pass.bias[column] + total : total;
}

}  // namespace

template <class T>
void bias_gradient(const BiasGradient<T>& pass, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((pass.columns + kWarp - 1) / kWarp);
  const dim3 threads(kWarp, kRowsAtOnce);
  if (pass.output != nullptr)
    bias_gradient_kernel<true><<<blocks, threads, 0, stream>>>(pass);
  else
    bias_gradient_kernel<false><<<blocks, threads, 0, stream>>>(pass);
  PTBENCH_CUDA_LAUNCHED(bias_gradient_kernel);
}

template void bias_gradient(const BiasGradient<float>&, cudaStream_t);
template void bias_gradient(const BiasGradient<Bf16>&, cudaStream_t);
template void bias_gradient(const BiasGradient<F16>&, cudaStream_t);

}  // namespace ptbench::cuda
