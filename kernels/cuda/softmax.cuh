#pragma once

#include <cmath>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/softmax_kernels.h"
#include "kernels/cuda/warp.cuh"

// What a warp does of softmax with cross-entropy.
namespace ptbench::cuda {

/// A row, by the 32 threads of a warp, whose first one writes.
template <class T>
__device__ void compute_row(const LabelledLogits<T>& input, const SoftmaxRows& rows, Size row,
                            int lane) {
  const T* logits = input.logits + row * input.classes;

  // From the largest logit on, so that no exponential overflows.
  float maximum = -INFINITY;
  for (Size i = lane; i < input.classes; i += kWarp) maximum = fmaxf(maximum, widened(logits[i]));
  maximum = warp_max(maximum);
  float sum = 0;
  for (Size i = lane; i < input.classes; i += kWarp) sum += expf(widened(logits[i]) - maximum);
  const float log_sum = logf(warp_sum(sum));

  if (lane != 0) return;
  rows.losses[row] = log_sum - (widened(logits[input.labels[row]]) - maximum);
  rows.maxima[row] = maximum;
  rows.log_sums[row] = log_sum;
}

/// A row of the gradient, by the 32 threads of a warp. `factor`: of all elements.
template <class T>
__device__ void compute_gradient(const LabelledLogits<T>& input, const SoftmaxRows& rows,
                                 float factor, T* gradient, Size row, int lane) {
  const T* logits = input.logits + row * input.classes;
  const float maximum = rows.maxima[row];
  const float log_sum = rows.log_sums[row];
  for (Size i = lane; i < input.classes; i += kWarp) {
    const float probability = expf(widened(logits[i]) - maximum - log_sum);
    const float target = i == input.labels[row] ? 1.0F : 0.0F;
    gradient[row * input.classes + i] = narrowed<T>((probability - target) * factor);
  }
}

}  // namespace ptbench::cuda
