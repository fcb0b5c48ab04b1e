// Stochastic gradient descent, a pack of elements a thread.
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/updates.cuh"
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
  for (int lane = 0; lane < kLanes; ++lane)
    update_by_sgd<kHasMomentum>(s, gradients.at[lane], parameters.at[lane], velocities.at[lane]);
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
