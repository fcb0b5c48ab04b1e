#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

/// Tensors that are added up.
template <class T>
struct Addends {
  static constexpr int kMost = 64;
  const T* values[kMost];
  int count;
};

/// to = Σ addends over `count` elements of device memory, of type T: float, Bf16 or F16. Summed in
/// f32 in their order, and rounded once. Moves (addends + 1) · sizeof(T) bytes an element: bound by
/// memory.
template <class T>
void add_up(const Addends<T>& addends, Size count, T* to, cudaStream_t stream);

}  // namespace ptbench::cuda
