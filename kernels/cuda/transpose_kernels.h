#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

/// Row-major matrices of one shape, one after the other: of at most 2³¹ − 1 tiles of up to 1024
/// elements.
struct MatrixBatch {
  Size count;
  Size rows;
  Size columns;
};

/// to = each matrix of `from`, transposed, in device memory. From and To are float, Bf16 or F16;
/// a narrower type is rounded to the nearest, ties to even. Moves sizeof(From) + sizeof(To) bytes
/// an element, whole lines on both sides: bound by memory.
template <class From, class To>
void transpose(const MatrixBatch& shape, const From* from, To* to, cudaStream_t stream);

}  // namespace ptbench::cuda
