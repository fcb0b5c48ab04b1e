#pragma once

#include <cstddef>
#include <type_traits>

#include "src/base/size.h"

// How consecutive elements are shared out to the threads of a grid.
namespace ptbench::cuda {

/// Elements that make the 16 bytes that a GPU moves at once.
template <class T>
constexpr int kMostLanes = 16 / sizeof(T);
/// Threads of a block where each thread works by itself.
constexpr int kThreads = 256;

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
