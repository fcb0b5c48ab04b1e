#pragma once

#include <cstddef>
#include <type_traits>

#include "src/base/size.h"

namespace ptbench::cuda {

/// So many consecutive elements, which a thread loads and stores in one instruction. The address is
/// a multiple of their size.
template <class T, int kLanes>
struct alignas(kLanes * sizeof(T)) Lanes {
  T at[kLanes];
};

/// As many as make the 16 bytes that a GPU moves at once.
template <class T>
constexpr int kMostLanes = 16 / sizeof(T);
/// Threads of a block where each thread works by itself.
constexpr int kThreads = 256;
/// Threads that a multiprocessor has at once: half of those that it holds or more, which have its
/// memory always busy, and 64 registers each, so that none is spilled. One of compute
/// capability 7.5 holds half as many as one of 8.0.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBusyThreads = 512;
#else
constexpr int kBusyThreads = 1024;
#endif

/// Which pack of lanes the calling thread has.
__device__ inline Size pack_of_thread() { return Size{blockIdx.x} * blockDim.x + threadIdx.x; }

template <int kLanes, class T>
__device__ Lanes<T, kLanes> load(const T* from, Size pack) {
  return reinterpret_cast<const Lanes<T, kLanes>*>(from)[pack];
}

template <int kLanes, class T>
__device__ void store(T* to, Size pack, const Lanes<T, kLanes>& values) {
  reinterpret_cast<Lanes<T, kLanes>*>(to)[pack] = values;
}

/// Blocks for so many packs.
inline unsigned blocks_for(Size packs) {
  return static_cast<unsigned>((packs + kThreads - 1) / kThreads);
}

/// Whether packs of 16 bytes begin at each of these addresses.
template <class... Pointers>
bool are_aligned(Pointers... pointers) {
  constexpr std::size_t kBytes = 16;
  return ((reinterpret_cast<std::size_t>(pointers) % kBytes == 0) && ...);
}

/// Calls launch(lanes, first element, packs) for as many whole packs of 16 bytes of T as there are,
/// and for the rest one by one; all of it one by one where addresses do not allow packs.
template <class T, class Launch>
void in_packs(Size count, bool aligned, const Launch& launch) {
  constexpr int kPack = kMostLanes<T>;
  const Size packed = aligned ? count / kPack * kPack : 0;
  if (packed > 0) launch(std::integral_constant<int, kPack>(), Size{0}, packed / kPack);
  if (packed < count) launch(std::integral_constant<int, 1>(), packed, count - packed);
}

}  // namespace ptbench::cuda
