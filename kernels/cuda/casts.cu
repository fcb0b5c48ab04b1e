// The same values in another type, one after the other.
#include "kernels/cuda/casts.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/lanes.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes, class From, class To>
__global__ void __launch_bounds__(kThreads)
    cast_kernel(const From* __restrict__ from, Size packs, To* __restrict__ to) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  const Lanes<From, kLanes> values = load<kLanes>(from, pack);
  Lanes<To, kLanes> results;
  for (int lane = 0; lane < kLanes; ++lane)
    results.at[lane] = narrowed<To>(widened(values.at[lane]));
  store(to, pack, results);
}

}  // namespace

// In packs of 16 bytes on the side of the floats, and half of that on the other.
template <class From, class To>
void cast(const From* from, Size count, To* to, cudaStream_t stream) {
  in_packs<float>(count, are_aligned(from, to), [&](auto lanes, Size first, Size packs) {
    cast_kernel<lanes()>
        <<<blocks_for(packs), kThreads, 0, stream>>>(from + first, packs, to + first);
    PTBENCH_CUDA_LAUNCHED(cast_kernel);
  });
}

template void cast(const float*, Size, Bf16*, cudaStream_t);
template void cast(const float*, Size, F16*, cudaStream_t);
template void cast(const Bf16*, Size, float*, cudaStream_t);
template void cast(const F16*, Size, float*, cudaStream_t);

}  // namespace ptbench::cuda
