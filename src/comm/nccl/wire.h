#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/size.h"

namespace ptbench::nccl {

// Gradients on a narrower wire: over `count` elements of device memory. 6 bytes an element are
// moved, which bounds both.

/// Rounds to the nearest, ties to even; NaN stays NaN.
void pack_bf16(const float* values, Size count, std::uint16_t* packed, cudaStream_t stream);
void unpack_bf16(const std::uint16_t* packed, Size count, float* values, cudaStream_t stream);

}  // namespace ptbench::nccl
