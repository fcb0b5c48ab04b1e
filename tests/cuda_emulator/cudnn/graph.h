#pragma once

#include <optional>
#include <vector>

#include "tests/cuda_emulator/cudnn/convolution.h"
#include "tests/cuda_emulator/cudnn/descriptor.h"
#include "tests/cuda_emulator/cudnn/tensor.h"

// Operations and graphs out of their descriptors. All throw Refusal: BAD_PARAM where the values do
// not go together, NOT_SUPPORTED where the emulation does not do it.

namespace ptbench::emulator {

/// What a convolution computes.
enum class Direction : std::uint8_t { forward, data_gradient, filter_gradient };

/// result = alpha · convolution + beta · result.
struct Convolution {
  Direction direction = Direction::forward;
  Tensor image;     ///< x or dx
  Tensor filters;   ///< w or dw
  Tensor response;  ///< y or dy
  ConvolutionShape shape;
  float alpha = 1;
  float beta = 0;

  [[nodiscard]] const Tensor& result() const;
  /// Whether what it is given has one type.
  [[nodiscard]] bool has_equal_operands() const;
};
[[nodiscard]] Convolution convolution_of(const Descriptor& operation);
void check_convolution(const Descriptor& descriptor);

/// y = x_factor · x + b_factor · b, or max(0, x_factor · x), or x_factor · x.
struct Pointwise {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  Tensor x;
  std::optional<Tensor> b;
  Tensor y;
  float x_factor = 1;
  float b_factor = 1;
  bool keeps_nan = false;  ///< of max(0, ·)
};
[[nodiscard]] Pointwise pointwise_of(const Descriptor& operation);
void check_pointwise(const Descriptor& descriptor);

/// One after another: a convolution, and pointwise operations whose `x` is what was computed
/// before; `b`, where there is one, lies in memory, and so does the last one's `y`.
struct Graph {
  Convolution convolution;
  std::vector<Pointwise> steps;

  [[nodiscard]] const Tensor& result() const {
    return steps.empty() ? convolution.result() : steps.back().y;
  }
  /// Whether it is what cuDNN has compiled engines for: a convolution of one type, alone or + a
  /// bias, before which another image may be added and behind which ReLU may stand (as the real one
  /// says of described devices: tests/cuda/plans).
  [[nodiscard]] bool is_plain() const;
  /// All tensors that lie in memory.
  [[nodiscard]] std::vector<Tensor> in_memory() const;
};
/// Of an operation graph's descriptor.
[[nodiscard]] Graph graph_of(const Descriptor& descriptor);

}  // namespace ptbench::emulator
