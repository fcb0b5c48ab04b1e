// Softmax with cross-entropy: a warp a sample, so that a row's maximum and sum never leave
// registers; the last block to finish adds up the samples' losses, which saves a launch.
#include "kernels/cuda/softmax.cuh"
#include "kernels/cuda/sum.cuh"
#include "src/device/cuda/check.h"
#include "src/device/cuda/grid_threads.h"

namespace ptbench::cuda {
namespace {

constexpr int kRowsOfBlock = 8;

__device__ Size row_of_warp() {
  return number_of({.block = blockIdx.x, .block_threads = kRowsOfBlock, .thread = threadIdx.y});
}

/// Whether all other blocks have written; one block hears so, and finds what they wrote.
__device__ bool is_last_block(unsigned* done) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) is_last = atomicAdd(done, 1U) == gridDim.x - 1;
  __syncthreads();
  __threadfence();
  return is_last;
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsOfBlock)
    rows_kernel(LabelledLogits<T> input, SoftmaxRows rows, double global_batch, float* loss) {
  static_assert(kWarp * kRowsOfBlock == kSummands);
  const Size row = row_of_warp();
  if (row < input.batch) compute_row(input, rows, row, static_cast<int>(threadIdx.x));
  if (!is_last_block(rows.done)) return;
  const int thread = static_cast<int>(threadIdx.y * kWarp + threadIdx.x);
  const double sum = sum_of_block(rows.losses, input.batch, thread);
  if (thread != 0) return;
  loss[0] = static_cast<float>(sum / global_batch);
  atomicExch(rows.done, 0U);  // as all blocks touch it
}

template <class T>
__global__ void __launch_bounds__(kWarp* kRowsOfBlock)
    gradient_kernel(LabelledLogits<T> input, SoftmaxRows rows, float share,
                    const float* __restrict__ scale, T* __restrict__ gradient) {
  const Size row = row_of_warp();
  if (row >= input.batch) return;
  compute_gradient(input, rows, share * scale[0], gradient, row, static_cast<int>(threadIdx.x));
}

unsigned blocks_of(Size batch) {
  return static_cast<unsigned>((batch + kRowsOfBlock - 1) / kRowsOfBlock);
}

}  // namespace

template <class T>
void softmax_rows(const LabelledLogits<T>& input, const SoftmaxRows& rows, Size global_batch,
                  float* loss, cudaStream_t stream) {
  rows_kernel<<<blocks_of(input.batch), dim3(kWarp, kRowsOfBlock), 0, stream>>>(
      input, rows, static_cast<double>(global_batch), loss);
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

template void softmax_rows(const LabelledLogits<float>&, const SoftmaxRows&, Size, float*,
                           cudaStream_t);
template void softmax_rows(const LabelledLogits<Bf16>&, const SoftmaxRows&, Size, float*,
                           cudaStream_t);
template void softmax_rows(const LabelledLogits<F16>&, const SoftmaxRows&, Size, float*,
                           cudaStream_t);
template void softmax_gradient(const LabelledLogits<float>&, const SoftmaxRows&, Size, const float*,
                               float*, cudaStream_t);
template void softmax_gradient(const LabelledLogits<Bf16>&, const SoftmaxRows&, Size, const float*,
                               Bf16*, cudaStream_t);
template void softmax_gradient(const LabelledLogits<F16>&, const SoftmaxRows&, Size, const float*,
                               F16*, cudaStream_t);

}  // namespace ptbench::cuda
