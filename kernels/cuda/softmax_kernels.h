#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/size.h"

namespace ptbench::cuda {

/// batch × classes logits, of type T (float, Bf16 or F16), with their labels, in device memory.
template <class T>
struct LabelledLogits {
  const T* logits;
  const std::int32_t* labels;
  Size batch;
  Size classes;
};

/// One element a sample, from the forward to the backward pass.
struct SoftmaxRows {
  float* losses;    ///< -log softmax(logits)[label]
  float* maxima;    ///< of the logits
  float* log_sums;  ///< log Σ exp(logit - maximum)
  unsigned* done;   ///< one cell, 0 between launches: how many blocks have written their rows
};

/// Fills `rows`, and loss[0] = (Σ losses) / global_batch, added up in double precision and a fixed
/// order by the block that is done last. Reads batch · classes · sizeof(T) bytes once from memory
/// (the second pass over a row finds it in the cache): bound by memory, or by launching it where
/// the batch is small.
template <class T>
void softmax_rows(const LabelledLogits<T>& input, const SoftmaxRows& rows, Size global_batch,
                  float* loss, cudaStream_t stream);

/// gradient = (softmax − one-hot) · (scale[0] / global_batch). Reads and writes batch · classes ·
/// sizeof(T) bytes: bound by memory.
template <class T>
void softmax_gradient(const LabelledLogits<T>& input, const SoftmaxRows& rows, Size global_batch,
                      const float* scale, T* gradient, cudaStream_t stream);

}  // namespace ptbench::cuda
