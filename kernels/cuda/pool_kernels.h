#pragma once

#include <cuda_runtime_api.h>

#include "src/base/size.h"

namespace ptbench::cuda {

// Pools over native images (NHWC) of elements T: float, Bf16 or F16. A thread has some neighbouring
// channels of one pixel, so that its loads are those of a whole line of memory; forward, windows of
// at least kSharedWindow pixels are shared by the threads of a block. Inputs are read once from
// memory, as far as the cache holds what windows have in common: all of it is bound by memory.

constexpr Size kSharedWindow = 16;

/// The sizes of images and of a window. The elements of a sample, of input and output, fit an int.
struct PoolShape {
  Size batch;
  int channels;
  int height;
  int width;
  int output_height;
  int output_width;
  int kernel_height;
  int kernel_width;
  int stride_height;
  int stride_width;
  int padding_height;
  int padding_width;

  [[nodiscard]] Size window() const { return Size{kernel_height} * kernel_width; }
};

/// output = the largest of each window: of equal ones the first in row-major order, or the last
/// NaN; -∞ of nothing but padding. `positions`, unless null, gets where in the window it lies, as
/// the pool's gradient wants it: Index is std::uint8_t where the window has 256 pixels at most, and
/// else std::int32_t. Moves sizeof(T) bytes an element of the input, and sizeof(T) + sizeof(Index)
/// of the output.
template <class T, class Index>
void max_pool(const PoolShape& shape, const T* input, T* output, Index* positions,
              cudaStream_t stream);

/// input_gradient = the sum over the windows that chose the pixel, in row-major order. Moves
/// sizeof(T) bytes an element of the input, and sizeof(T) + sizeof(Index) of the output.
template <class T, class Index>
void max_pool_gradient(const PoolShape& shape, const T* output_gradient, const Index* positions,
                       T* input_gradient, cudaStream_t stream);

/// output = the mean of each window, whose padding counts as zeros. Moves sizeof(T) bytes an
/// element of the input and of the output.
template <class T>
void average_pool(const PoolShape& shape, const T* input, T* output, cudaStream_t stream);

/// input_gradient = the sum over the windows that cover the pixel, in row-major order, divided by
/// the size of a window. Moves sizeof(T) bytes an element of the input and of the output.
template <class T>
void average_pool_gradient(const PoolShape& shape, const T* output_gradient, T* input_gradient,
                           cudaStream_t stream);

}  // namespace ptbench::cuda
