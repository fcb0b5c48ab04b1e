#pragma once

#include "src/base/size.h"

namespace ptbench::cuda {

/// So many consecutive floats, which a thread loads and stores in one instruction: 4 of them make
/// the 16 bytes that a GPU moves at once. The address is a multiple of their size.
template <int kLanes>
struct alignas(kLanes * sizeof(float)) Lanes {
  float at[kLanes];
};

constexpr int kMostLanes = 4;
/// Threads of a block where each thread works by itself.
constexpr int kThreads = 256;

/// Which pack of lanes the calling thread has.
__device__ inline Size pack_of_thread() { return Size{blockIdx.x} * blockDim.x + threadIdx.x; }

template <int kLanes>
__device__ Lanes<kLanes> load(const float* from, Size pack) {
  return reinterpret_cast<const Lanes<kLanes>*>(from)[pack];
}

template <int kLanes>
__device__ void store(float* to, Size pack, const Lanes<kLanes>& values) {
  reinterpret_cast<Lanes<kLanes>*>(to)[pack] = values;
}

/// Blocks for so many packs.
inline unsigned blocks_for(Size packs) {
  return static_cast<unsigned>((packs + kThreads - 1) / kThreads);
}

/// Whether packs of 4 begin at each of these addresses.
template <class... Pointers>
bool are_aligned(Pointers... pointers) {
  constexpr std::size_t kBytes = kMostLanes * sizeof(float);
  return ((reinterpret_cast<std::size_t>(pointers) % kBytes == 0) && ...);
}

/// Calls launch(lanes, first element, packs) for as many whole packs of 4 as there are, and for the
/// rest one by one; all of it one by one where addresses do not allow packs.
template <class Launch>
void in_packs(Size count, bool aligned, const Launch& launch) {
  const Size packed = aligned ? count / kMostLanes * kMostLanes : 0;
  if (packed > 0) launch(std::integral_constant<int, kMostLanes>(), Size{0}, packed / kMostLanes);
  if (packed < count) launch(std::integral_constant<int, 1>(), packed, count - packed);
}

}  // namespace ptbench::cuda
