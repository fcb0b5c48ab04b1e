#include "kernels/cuda/sum.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

constexpr int kSummands = 256;  // threads, each of which sums every 256th term

__global__ void __launch_bounds__(kSummands) sum_block(const float* __restrict__ terms, Size count,
                                                       double divisor, float* __restrict__ sum) {
  __shared__ double partial[kSummands];
  const int thread = static_cast<int>(threadIdx.x);
  double own = 0;
  for (Size term = thread; term < count; term += kSummands) own += double{terms[term]};
  partial[thread] = own;
  __syncthreads();
  for (int half = kSummands / 2; half > 0; half /= 2) {
    if (thread < half) partial[thread] += partial[thread + half];
    __syncthreads();
  }
  if (thread == 0) sum[0] = static_cast<float>(partial[0] / divisor);
}

}  // namespace

void sum_in_double(const float* terms, Size count, double divisor, float* sum,
                   cudaStream_t stream) {
  sum_block<<<1, kSummands, 0, stream>>>(terms, count, divisor, sum);
  PTBENCH_CUDA_LAUNCHED(sum_block);
}

}  // namespace ptbench::cuda
