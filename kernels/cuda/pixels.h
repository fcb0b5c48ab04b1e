#pragma once

#include <cuda_runtime_api.h>

#include "kernels/tensor.h"

namespace ptbench::cuda {

// Between plain images, batch × channels × height × width, and images whose channels are together
// and padded: batch × height × width × `padded`, which is a multiple of the elements in 16 bytes.
// Each moves both images once: bound by memory.

/// Writes zeros where channels are padded.
template <class T>
void pack_pixels(const T* plain, const ImageShape& image, Size padded, T* packed,
                 cudaStream_t stream);

/// The way back.
template <class T>
void unpack_pixels(const T* packed, const ImageShape& image, Size padded, T* plain,
                   cudaStream_t stream);

}  // namespace ptbench::cuda
