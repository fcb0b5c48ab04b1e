#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/batch_norm_tiles.h"

// The passes of batch normalisation over tensors of rows × channels in device memory that begin at
// multiples of 16 bytes; T is float, Bf16 or F16. In the bounds below E is the bytes of one tensor.
// All passes over tensors are bound by memory; those over channels, and all of small tensors, by
// the latency of launches. Sums are taken in an order that the shape decides.
namespace ptbench::cuda {

/// What x is normalised with: (x - mean) · inverse_deviation. One element a channel.
struct BatchNormStatistics {
  float* mean;
  float* inverse_deviation;  ///< 1 / √(variance + ε)
};

/// The buffers of a layer, one element a channel.
struct RunningStatistics {
  float* mean;
  float* variance;
};

/// One element a channel.
struct BatchNormParameters {
  const float* weight;  ///< γ
  const float* bias;    ///< β
};

/// Two values of each slice and channel, slices × channels each: from a pass over a tensor to the
/// small one that ends its sums. 8 / slice_rows bytes an element of the tensor.
struct SliceValues {
  float* first;
  float* second;
};

/// Mean and biased variance of a micro-batch, by moments that threads take from a value of their
/// own and that are merged pairwise (Chan, Golub and LeVeque 1983, "Algorithms for Computing the
/// Sample Variance"), so that a mean far from zero costs no digits. `running` moves towards them.
/// Reads E.
template <class T>
void batch_norm_statistics(const T* input, const BatchNormShape& shape, const SliceValues& slices,
                           const BatchNormStatistics& statistics, const RunningStatistics& running,
                           cudaStream_t stream);

/// The statistics of a trained model: its buffers. Moves 16 bytes a channel.
void batch_norm_statistics_of_buffers(const RunningStatistics& running, Size channels,
                                      const BatchNormStatistics& statistics, cudaStream_t stream);

/// What `batch_norm_normalize` goes over.
template <class T>
struct Normalization {
  const T* input;
  const T* second;  ///< is added; null where there is none
  T* output;
  bool rectified;  ///< max(0, ·); NaN stays NaN
  /// Gets a byte for each pack of batch_norm_tiles: bit i is set where lane i of the rectifier was
  /// open. Null where nobody needs it.
  std::uint8_t* open;
};

/// Reads E, and E for the second input, and writes E, and E / 16 for bytes of whole packs. From
/// behind, where the statistics ended.
template <class T>
void batch_norm_normalize(const Normalization<T>& tensors, const BatchNormShape& shape,
                          const BatchNormStatistics& statistics,
                          const BatchNormParameters& parameters, cudaStream_t stream);

/// How backward knows where the rectifier was open: there is none; by normalising the input once
/// more, which reads nothing else; by the bits that forward kept, where that is not enough.
enum class Mask : std::uint8_t { none, input, bits };

/// The gradient g before addition and rectifier, as it is known from outside.
template <class T>
struct OutputGradient {
  const T* first;
  const T* second;           ///< is added; null where there is none, and with Mask::input
  const std::uint8_t* open;  ///< as in Normalization, for Mask::bits
  Mask mask;
};

/// The gradients of a layer's parameters, one element a channel.
struct BatchNormParameterGradients {
  float* weight;
  float* bias;
  bool adds;  ///< to what is there
};

/// What the gradient of the input needs of the sums, one element a channel: Σg/n and
/// Σg·(x - mean) · inverse_deviation²/n.
struct BatchNormSlopes {
  float* offset;
  float* slope;
};

/// The gradients of γ and β, and the slopes; writes g to `kept` unless that is null, as it is with
/// Mask::input. Reads E, E for each term of the gradient and E / 16 for bits, and writes E for
/// `kept`.
template <class T>
void batch_norm_parameter_gradients(const T* input, const OutputGradient<T>& gradient,
                                    const BatchNormShape& shape,
                                    const BatchNormStatistics& statistics,
                                    const BatchNormParameters& parameters,
                                    const SliceValues& slices,
                                    const BatchNormParameterGradients& gradients,
                                    const BatchNormSlopes& slopes, T* kept, cudaStream_t stream);

/// γ·inverse_deviation · (g - offset - (x - mean)·slope). Reads E, E for each term of the gradient
/// and E / 16 for bits, and writes E. From behind, where the sums ended.
template <class T>
void batch_norm_input_gradient(const T* input, const OutputGradient<T>& gradient,
                               const BatchNormShape& shape, const BatchNormStatistics& statistics,
                               const BatchNormParameters& parameters, const BatchNormSlopes& slopes,
                               T* input_gradient, cudaStream_t stream);

}  // namespace ptbench::cuda
