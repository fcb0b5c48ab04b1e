#pragma once

#include "kernels/cuda/packs.h"
#include "src/device/cuda/grid_threads.h"

namespace ptbench::cuda {

/// Threads that a multiprocessor has at once: half of those that it holds or more, which have its
/// memory always busy, and 64 registers each, so that none is spilled. One of compute
/// capability 7.5 holds half as many as one of 8.0.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBusyThreads = 512;
#else
constexpr int kBusyThreads = 1024;
#endif

/// So many consecutive elements, which a thread loads and stores in one instruction. The address is
/// a multiple of their size.
template <class T, int kLanes>
struct alignas(kLanes * sizeof(T)) Lanes {
  T at[kLanes];
};

/// Which pack of lanes the calling thread has.
__device__ inline Size pack_of_thread() {
  return number_of({.block = blockIdx.x, .block_threads = blockDim.x, .thread = threadIdx.x});
}

template <int kLanes, class T>
__device__ Lanes<T, kLanes> load(const T* from, Size pack) {
  return reinterpret_cast<const Lanes<T, kLanes>*>(from)[pack];
}

template <int kLanes, class T>
__device__ void store(T* to, Size pack, const Lanes<T, kLanes>& values) {
  reinterpret_cast<Lanes<T, kLanes>*>(to)[pack] = values;
}

}  // namespace ptbench::cuda
