// The numbers of an optimizer step, from an argument of a launch into memory.
#include "kernels/cuda/optimizer_kernels.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

__global__ void __launch_bounds__(1) tell_kernel(OptimizerScalars scalars, OptimizerScalars* to) {
  *to = scalars;
}

}  // namespace

void tell_scalars(const OptimizerScalars& scalars, OptimizerScalars* to, cudaStream_t stream) {
  tell_kernel<<<1, 1, 0, stream>>>(scalars, to);
  PTBENCH_CUDA_LAUNCHED(tell_kernel);
}

}  // namespace ptbench::cuda
