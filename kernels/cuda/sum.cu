#include "kernels/cuda/sum.cuh"
#include "kernels/cuda/sum.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

__global__ void __launch_bounds__(kSummands)
    sum_block(const float* terms, Size count, double divisor, float* __restrict__ sum) {
  const int thread = static_cast<int>(threadIdx.x);
  const double total = sum_of_block(terms, count, thread);
  if (thread == 0) sum[0] = static_cast<float>(total / divisor);
}

}  // namespace

void sum_in_double(const float* terms, Size count, double divisor, float* sum,
                   cudaStream_t stream) {
  sum_block<<<1, kSummands, 0, stream>>>(terms, count, divisor, sum);
  PTBENCH_CUDA_LAUNCHED(sum_block);
}

}  // namespace ptbench::cuda
