#pragma once

#include <cuda_runtime_api.h>

#include "kernels/optimizer_scalars.h"
#include "src/base/size.h"

namespace ptbench::cuda {

/// Consecutive elements of the arenas, and whether to update them, in device memory.
struct ArenaSlice {
  float* parameters;
  const float* gradients;
  float* first;       ///< momentum, or Adam's first moment; null for plain SGD
  float* second;      ///< Adam's second moment; null for SGD
  const float* skip;  ///< nothing is updated where *skip is not 0; null: everything is
  Size count;

  /// From element `begin` on.
  [[nodiscard]] ArenaSlice from(Size begin) const {
    return {parameters + begin,
            gradients + begin,
            first == nullptr ? nullptr : first + begin,
            second == nullptr ? nullptr : second + begin,
            skip,
            count - begin};
  }
};

/// *to = scalars, which travel as an argument of the launch: no memory of the host has to stay as
/// it is until the device has read it. Bound by launching it.
void tell_scalars(const OptimizerScalars& scalars, OptimizerScalars* to, cudaStream_t stream);

// `scalars` lies in device memory, so that a recorded step can be done again with others.
//
// One pass over the slice, bound by memory. Rounding is pinned operation by operation, so that a
// slice's bits do not depend on how the arena was cut.

/// Moves 12 bytes an element.
void plain_sgd(const ArenaSlice& slice, const OptimizerScalars* scalars, cudaStream_t stream);
/// Moves 20 bytes an element.
void momentum_sgd(const ArenaSlice& slice, const OptimizerScalars* scalars, cudaStream_t stream);
/// Adam and AdamW. Moves 28 bytes an element.
void adam(const ArenaSlice& slice, const OptimizerScalars* scalars, cudaStream_t stream);

}  // namespace ptbench::cuda
