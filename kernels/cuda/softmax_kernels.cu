// Softmax with cross-entropy: a warp a sample, so that a row's maximum and sum never leave
// registers.
#include <cmath>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/softmax_kernels.h"
#include "kernels/cuda/warp.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

constexpr int kRowsOfBlock = 8;

__device__ Size row_of_warp() { return Size{blockIdx.x} * kRowsOfBlock + threadIdx.y; }

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsOfBlock)
    rows_kernel(LabelledLogits<T> input, SoftmaxRows rows) {
  const Size row = row_of_warp();
  if (row >= input.batch) return;  // the whole warp
  const T* logits = input.logits + row * input.classes;
  const int lane = static_cast<int>(threadIdx.x);

  // From the largest logit on, so that no exponential overflows.
  float maximum = -INFINITY;
  for (Size i = lane; i < input.classes; i += kWarp) maximum = fmaxf(maximum, widened(logits[i]));
  maximum = warp_max(maximum);
  float sum = 0;
  for (Size i = lane; i < input.classes; i += kWarp) sum += expf(widened(logits[i]) - maximum);
  const float log_sum = logf(warp_sum(sum));

  if (lane != 0) return;
  rows.losses[row] = log_sum - (widened(logits[input.labels[row]]) - maximum);
  rows.maxima[row] = maximum;
  rows.log_sums[row] = log_sum;
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsOfBlock)
    gradient_kernel(LabelledLogits<T> input, SoftmaxRows rows, float share,
                    const float* __restrict__ scale, T* __restrict__ gradient) {
  const Size row = row_of_warp();
  if (row >= input.batch) return;
  const T* logits = input.logits + row * input.classes;
  const float maximum = rows.maxima[row];
  const float log_sum = rows.log_sums[row];
  const float factor = share * scale[0];
  for (Size i = threadIdx.x; i < input.classes; i += kWarp) {
    const float probability = expf(widened(logits[i]) - maximum - log_sum);
    const float target = i == input.labels[row] ? 1.0F : 0.0F;
    gradient[row * input.classes + i] = narrowed<T>((probability - target) * factor);
  }
}

unsigned blocks_of(Size batch) {
  return static_cast<unsigned>((batch + kRowsOfBlock - 1) / kRowsOfBlock);
}

}  // namespace

template <class T>
void softmax_rows(const LabelledLogits<T>& input, const SoftmaxRows& rows, cudaStream_t stream) {
  rows_kernel<<<blocks_of(input.batch), dim3(kWarp, kRowsOfBlock), 0, stream>>>(input, rows);
  PTBENCH_CUDA_LAUNCHED(rows_kernel);
}

template <class T>
void softmax_gradient(const LabelledLogits<T>& input, const SoftmaxRows& rows, Size global_batch,
                      const float* scale, T* gradient, cudaStream_t stream) {
  const float share = 1.0F / static_cast<float>(global_batch);
  gradient_kernel<<<blocks_of(input.batch), dim3(kWarp, kRowsOfBlock), 0, stream>>>(
      input, rows, share, scale, gradient);
  PTBENCH_CUDA_LAUNCHED(gradient_kernel);
}

template void softmax_rows(const LabelledLogits<float>&, const SoftmaxRows&, cudaStream_t);
template void softmax_rows(const LabelledLogits<Bf16>&, const SoftmaxRows&, cudaStream_t);
template void softmax_rows(const LabelledLogits<F16>&, const SoftmaxRows&, cudaStream_t);
template void softmax_gradient(const LabelledLogits<float>&, const SoftmaxRows&, Size, const float*,
                               float*, cudaStream_t);
template void softmax_gradient(const LabelledLogits<Bf16>&, const SoftmaxRows&, Size, const float*,
                               Bf16*, cudaStream_t);
template void softmax_gradient(const LabelledLogits<F16>&, const SoftmaxRows&, Size, const float*,
                               F16*, cudaStream_t);

}  // namespace ptbench::cuda
