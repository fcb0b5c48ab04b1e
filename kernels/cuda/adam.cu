// Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019) as PyTorch computes them: of the two
// kinds of decay one is always switched off by its scalar.
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/optimizer_kernels.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

/// One element and its moments.
__device__ void update(const OptimizerScalars& s, float gradient, float& parameter, float& first,
                       float& second) {
  const float decayed = __fmaf_rn(s.weight_decay, parameter, gradient);
  first = __fmaf_rn(s.beta1, first, __fmul_rn(s.fresh1, decayed));
  second = __fmaf_rn(s.beta2, second, __fmul_rn(__fmul_rn(s.fresh2, decayed), decayed));
  const float root = __fmaf_rn(__fsqrt_rn(second), s.root_scale, s.epsilon);
  const float change = __fdiv_rn(__fmul_rn(s.step_size, first), root);
  parameter = __fmaf_rn(s.keep, parameter, -change);
}

template <int kLanes>
__global__ void __launch_bounds__(kThreads)
    adam_kernel(ArenaSlice slice, const OptimizerScalars* __restrict__ scalars, Size packs) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  if (slice.skip != nullptr && *slice.skip != 0) return;
  const OptimizerScalars s = *scalars;
  Lanes<float, kLanes> parameters = load<kLanes>(slice.parameters, pack);
  const Lanes<float, kLanes> gradients = load<kLanes>(slice.gradients, pack);
  Lanes<float, kLanes> first = load<kLanes>(slice.first, pack);
  Lanes<float, kLanes> second = load<kLanes>(slice.second, pack);
  for (int lane = 0; lane < kLanes; ++lane)
    update(s, __fmul_rn(gradients.at[lane], s.gradient_scale), parameters.at[lane], first.at[lane],
           second.at[lane]);
  store(slice.parameters, pack, parameters);
  store(slice.first, pack, first);
  store(slice.second, pack, second);
}

}  // namespace

void adam(const ArenaSlice& slice, const OptimizerScalars* scalars, cudaStream_t stream) {
  const bool aligned = are_aligned(slice.parameters, slice.gradients, slice.first, slice.second);
  in_packs<float>(slice.count, aligned, [&](auto lanes, Size first, Size packs) {
    adam_kernel<lanes()>
        <<<blocks_for(packs), kThreads, 0, stream>>>(slice.from(first), scalars, packs);
    PTBENCH_CUDA_LAUNCHED(adam_kernel);
  });
}

}  // namespace ptbench::cuda
