#pragma once

#include "src/base/size.h"

// What kernels compute of where their threads stand, the host computes too: tests do so for larger
// grids than they could launch.
#ifdef __CUDACC__
#define PTBENCH_HOST_DEVICE __host__ __device__
#else
#define PTBENCH_HOST_DEVICE
#endif

namespace ptbench {

/// A thread of a grid, along one dimension.
struct GridThread {
  unsigned block = 0;
  unsigned block_threads = 1;  ///< of each block
  unsigned thread = 0;         ///< in its block
};

/// Its number among all threads of the grid, of which 32 bits may not count all.
PTBENCH_HOST_DEVICE constexpr Size number_of(const GridThread& at) {
  return Size{at.block} * at.block_threads + at.thread;
}

}  // namespace ptbench
