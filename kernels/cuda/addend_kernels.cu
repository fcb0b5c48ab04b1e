#include "kernels/cuda/addend_kernels.h"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/lanes.cuh"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

template <int kLanes, class T>
__global__ void __launch_bounds__(kThreads)
    add_up_kernel(const __grid_constant__ Addends<T> addends, Size first, Size packs, T* to) {
  const Size pack = pack_of_thread();
  if (pack >= packs) return;
  float sums[kLanes] = {};
  for (int addend = 0; addend < addends.count; ++addend) {
    const Lanes<T, kLanes> values = load<kLanes>(addends.values[addend] + first, pack);
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += widened(values.at[lane]);
  }
  Lanes<T, kLanes> results;
  for (int lane = 0; lane < kLanes; ++lane) results.at[lane] = narrowed<T>(sums[lane]);
  store(to + first, pack, results);
}

}  // namespace

template <class T>
void add_up(const Addends<T>& addends, Size count, T* to, cudaStream_t stream) {
  bool aligned = are_aligned(to);
  for (int addend = 0; addend < addends.count; ++addend)
    aligned = aligned && are_aligned(addends.values[addend]);
  in_packs<T>(count, aligned, [&](auto lanes, Size first, Size packs) {
    add_up_kernel<lanes()><<<blocks_for(packs), kThreads, 0, stream>>>(addends, first, packs, to);
    PTBENCH_CUDA_LAUNCHED(add_up_kernel);
  });
}

template void add_up(const Addends<float>&, Size, float*, cudaStream_t);
template void add_up(const Addends<Bf16>&, Size, Bf16*, cudaStream_t);
template void add_up(const Addends<F16>&, Size, F16*, cudaStream_t);

}  // namespace ptbench::cuda
