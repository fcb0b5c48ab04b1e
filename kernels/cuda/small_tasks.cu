// Several small passes in one launch of one block.
#include "kernels/cuda/small_linear.cuh"
#include "kernels/cuda/small_tasks.h"
#include "kernels/cuda/softmax.cuh"
#include "kernels/cuda/sum.cuh"
#include "kernels/cuda/updates.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

constexpr int kBlock = kSummands;  // threads
constexpr int kWarps = kBlock / kWarp;

template <class T>
__device__ void run(const LinearForward<T>& pass, int thread) {
  for (Size result = thread; result < results_of(pass.layer); result += kBlock)
    compute_result(pass.layer, result);
}

template <class T>
__device__ void run(const LinearBackward<T>& pass, int thread) {
  const Size results = results_of(pass.layer, pass.gradients);
  for (Size result = thread; result < results; result += kBlock)
    compute_result(pass.layer, pass.gradients, result);
}

template <class T>
__device__ void run(const LossForward<T>& pass, int thread) {
  for (Size row = thread / kWarp; row < pass.input.batch; row += kWarps)
    compute_row(pass.input, pass.rows, row, thread % kWarp);
  __syncthreads();
  const double sum = sum_of_block(pass.rows.losses, pass.input.batch, thread);
  if (thread == 0) pass.loss[0] = static_cast<float>(sum / static_cast<double>(pass.global_batch));
}

template <class T>
__device__ void run(const LossBackward<T>& pass, int thread) {
  const float factor = 1.0F / static_cast<float>(pass.global_batch) * pass.scale[0];
  for (Size row = thread / kWarp; row < pass.input.batch; row += kWarps)
    compute_gradient(pass.input, pass.rows, factor, pass.gradient, row, thread % kWarp);
}

template <UpdateRule kRule>
__device__ void run(const Update<kRule>& pass, int thread) {
  const ArenaSlice& slice = pass.slice;
  if (slice.skip != nullptr && *slice.skip != 0) return;
  const OptimizerScalars s = *pass.scalars;
  for (Size i = thread; i < slice.count; i += kBlock) {
    if constexpr (kRule == UpdateRule::adam) {
      update_by_adam(s, slice.gradients[i], slice.parameters[i], slice.first[i], slice.second[i]);
    } else if constexpr (kRule == UpdateRule::momentum_sgd) {
      update_by_sgd<true>(s, slice.gradients[i], slice.parameters[i], slice.first[i]);
    } else {
      float change = 0;
      update_by_sgd<false>(s, slice.gradients[i], slice.parameters[i], change);
    }
  }
}

__global__ void __launch_bounds__(kBlock)
    small_tasks_kernel(const __grid_constant__ SmallTasks tasks) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int at = 0; at < tasks.count; ++at) {
    const SmallTask& task = tasks.tasks[at];
    SmallPasses::visit(task.number, task.bytes, [thread](const auto& pass) { run(pass, thread); });
    __syncthreads();
  }
}

}  // namespace

void run_small_tasks(const SmallTasks& tasks, cudaStream_t stream) {
  small_tasks_kernel<<<1, kBlock, 0, stream>>>(tasks);
  PTBENCH_CUDA_LAUNCHED(small_tasks_kernel);
}

}  // namespace ptbench::cuda
