// Adam and AdamW, a pack of elements a thread.
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/updates.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

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
    update_by_adam(s, gradients.at[lane], parameters.at[lane], first.at[lane], second.at[lane]);
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
