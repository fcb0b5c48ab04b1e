// Stochastic gradient descent: v ← m·v + g + w·p, p ← p − lr·v.
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/optimizer_kernels.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes, bool kHasMomentum>
__global__ void __launch_bounds__(kThreads)
    sgd_kernel(ArenaSlice slice, const OptimizerScalars* __restrict__ scalars, Size packs) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  if (slice.skip != nullptr && *slice.skip != 0) return;
  const OptimizerScalars s = *scalars;
  Lanes<float, kLanes> parameters = load<kLanes>(slice.parameters, pack);
  const Lanes<float, kLanes> gradients = load<kLanes>(slice.gradients, pack);
  Lanes<float, kLanes> velocities{};
  if constexpr (kHasMomentum) velocities = load<kLanes>(slice.first, pack);
  for (int lane = 0; lane < kLanes; ++lane) {
    float& parameter = parameters.at[lane];
    float& velocity = velocities.at[lane];
    const float gradient = __fmul_rn(gradients.at[lane], s.gradient_scale);
    const float decayed = __fmaf_rn(s.weight_decay, parameter, gradient);
    velocity = kHasMomentum ? __fmaf_rn(s.momentum, velocity, decayed) : decayed;
    parameter = __fmaf_rn(-s.lr, velocity, parameter);
  }
  store(slice.parameters, pack, parameters);
  if constexpr (kHasMomentum) store(slice.first, pack, velocities);
}

template <bool kHasMomentum>
void launch(const ArenaSlice& slice, const OptimizerScalars* scalars, cudaStream_t stream) {
  const bool aligned = are_aligned(slice.parameters, slice.gradients, slice.first);
  in_packs<float>(slice.count, aligned, [&](auto lanes, Size first, Size packs) {
    sgd_kernel<lanes(), kHasMomentum>
        <<<blocks_for(packs), kThreads, 0, stream>>>(slice.from(first), scalars, packs);
    PTBENCH_CUDA_LAUNCHED(sgd_kernel);
  });
}

}  // namespace

void plain_sgd(const ArenaSlice& slice, const OptimizerScalars* scalars, cudaStream_t stream) {
  launch<false>(slice, scalars, stream);
}

void momentum_sgd(const ArenaSlice& slice, const OptimizerScalars* scalars, cudaStream_t stream) {
  launch<true>(slice, scalars, stream);
}

}  // namespace ptbench::cuda
