#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/tensor.h"
#include "src/base/shape.h"
#include "src/base/size.h"

namespace ptbench {

// What operators compute, without saying how. Every spec carries the type of its activations and
// of their gradients; sums, statistics, parameters and the loss are always f32, and weights are
// rounded to the activations' type where they are multiplied. Only what multiplies matrices may be
// of type tf32, on activations in f32.

/// y = x·Wᵀ + b, then max(0, y) where `relu`. x is batch × inputs, y batch × outputs, plain;
/// W is outputs × inputs when exported. Operations: 2·batch·inputs·outputs a pass.
struct LinearSpec {
  Size batch = 0;
  Size inputs = 0;
  Size outputs = 0;
  bool relu = false;
  bool input_gradient = true;  ///< false for the first layer: nobody needs the gradient of data
  ElementType type = ElementType::f32;
  friend bool operator==(const LinearSpec&, const LinearSpec&) = default;
};

/// How a convolution or a pool moves over an image; padding on both sides.
struct Window {
  Size kernel_height = 1;
  Size kernel_width = 1;
  Size stride_height = 1;
  Size stride_width = 1;
  Size padding_height = 0;
  Size padding_width = 0;
  [[nodiscard]] static Window square(Size kernel, Size stride = 1, Size padding = 0) {
    return {kernel, kernel, stride, stride, padding, padding};
  }
  /// floor((size + 2·padding - kernel) / stride) + 1, as PyTorch; below 1 where nothing fits.
  [[nodiscard]] Size output_height(Size height) const;
  [[nodiscard]] Size output_width(Size width) const;
  friend bool operator==(const Window&, const Window&) = default;
};

/// Cross-correlation as nn.Conv2d computes it; with a bias also + the second input, an image as the
/// output, where `add`, and then max(0, y) where `relu`. The output is native. W is outputs ×
/// channels × kernel height × kernel width when exported.
struct Conv2dSpec {
  ImageShape input;
  Size outputs = 0;  ///< channels of the output
  Window window = {};
  bool bias = false;
  bool add = false;          ///< only with a bias
  bool relu = false;         ///< only with a bias
  bool plain_input = false;  ///< the input is plain (the data themselves); else native
  bool input_gradient = true;
  ElementType type = ElementType::f32;
  [[nodiscard]] ImageShape output() const;
  friend bool operator==(const Conv2dSpec&, const Conv2dSpec&) = default;
};

/// y = γ·(x - mean)/√(variance + ε) + β per channel, native to native; then + the second input
/// where `add`; then max(0, y) where `relu`. ε 1e-5. Training: mean and biased variance of the
/// micro-batch; the buffers running_mean and running_var move by 0.1 towards mean and unbiased
/// variance (as nn.BatchNorm2d: of one value, 0/0 is refused there, here it is the biased one).
/// Evaluation: the buffers.
struct BatchNormSpec {
  ImageShape input;
  bool add = false;
  bool relu = false;
  Size gradient_terms = 1;  ///< 1 or 2 output gradients, whose sum counts
  bool input_gradient = true;
  ElementType type = ElementType::f32;
  friend bool operator==(const BatchNormSpec&, const BatchNormSpec&) = default;
};

/// y = max(0, x), element by element, of any format; x and y have the same spec.
struct ReluSpec {
  TensorSpec tensor;
  bool input_gradient = true;
  friend bool operator==(const ReluSpec&, const ReluSpec&) = default;
};

/// y = x·Φ(x) with the exact normal distribution function, as nn.GELU().
struct GeluSpec {
  TensorSpec tensor;
  bool input_gradient = true;
  friend bool operator==(const GeluSpec&, const GeluSpec&) = default;
};

/// y = a + b; the gradient of each input is that of the output.
struct AddSpec {
  TensorSpec tensor;
  friend bool operator==(const AddSpec&, const AddSpec&) = default;
};

/// A tensor with several users: forward does nothing (all read the input), backward adds up what
/// the users say. Its output lies where its input lies.
struct ForkSpec {
  TensorSpec tensor;
  Size gradient_terms = 2;
  friend bool operator==(const ForkSpec&, const ForkSpec&) = default;
};

enum class PoolKind : std::uint8_t { max, average };

/// As nn.MaxPool2d (padding is -∞; of equal values the first in row-major order counts) and
/// nn.AvgPool2d (padding counts as zeros), native to native.
struct PoolSpec {
  PoolKind kind = PoolKind::max;
  ImageShape input;
  Window window = {};
  bool input_gradient = true;
  ElementType type = ElementType::f32;
  [[nodiscard]] ImageShape output() const;
  friend bool operator==(const PoolSpec&, const PoolSpec&) = default;
};

/// The same values in another format or type: the data as the model computes with them, images to
/// rows (flatten) and back. Both shapes are the same but for how channels × height × width are
/// written.
struct ReorderSpec {
  TensorSpec from;
  TensorSpec to;
  bool input_gradient = true;
  friend bool operator==(const ReorderSpec&, const ReorderSpec&) = default;
};

/// Mean cross-entropy of softmax(logits) over `global_batch` samples, of which `batch` are here.
/// forward writes this part's share of the loss (sum of its samples / global_batch); backward
/// writes the gradient of the logits, times the loss scale.
struct SoftmaxCrossEntropySpec {
  Size batch = 0;
  Size classes = 0;
  Size global_batch = 0;
  ElementType type = ElementType::f32;  ///< of the logits; the arithmetic is f32
  friend bool operator==(const SoftmaxCrossEntropySpec&, const SoftmaxCrossEntropySpec&) = default;
};

using OperatorSpec =
    std::variant<LinearSpec, Conv2dSpec, BatchNormSpec, ReluSpec, GeluSpec, AddSpec, ForkSpec,
                 PoolSpec, ReorderSpec, SoftmaxCrossEntropySpec>;

/// Names the operator and every number that decides how it is best computed: "linear
/// b128 784->1024 relu". Keys of plans.
[[nodiscard]] std::string key_of(const OperatorSpec& spec);

/// Floating-point operations of one forward pass and one backward pass; a multiply-add is two.
/// Counts matrix products and convolutions only, as is usual.
struct Flops {
  double forward = 0;
  double backward = 0;
};
[[nodiscard]] Flops flops_of(const OperatorSpec& spec);

/// Whether a backward pass may look at what its forward pass wrote, or at that input of it, however
/// it is computed: what none does makes room early.
[[nodiscard]] bool backward_reads_output(const OperatorSpec& spec);
[[nodiscard]] bool backward_reads_input(const OperatorSpec& spec, std::size_t input);

/// As what it multiplies matrices; the type of its input where it multiplies none.
[[nodiscard]] ElementType products_of(const OperatorSpec& spec);

/// The activations that an operator takes and gives.
struct OperatorTensors {
  std::vector<TensorSpec> inputs;
  std::optional<TensorSpec> output;  ///< empty for a loss
  Size labels = 0;                   ///< of a loss
  Size gradient_terms = 1;           ///< output gradients, each of the output's spec; 0 for a loss
  bool input_gradient = true;        ///< whether it computes gradients of its inputs
};
[[nodiscard]] OperatorTensors tensors_of(const OperatorSpec& spec);

/// How a tensor is drawn: uniform in [center - spread, center + spread), or normal with mean
/// `center` and standard deviation `spread`.
enum class Distribution : std::uint8_t { uniform, normal };

/// A tensor of an operator as the outside knows it: row-major, with PyTorch's name and
/// initialisation.
struct ParameterSpec {
  std::string name;  ///< "weight", "bias"
  Shape shape;       ///< row-major, as PyTorch has it
  float spread = 0;
  float center = 0;
  Distribution distribution = Distribution::uniform;
};
/// What training changes by gradients.
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const OperatorSpec& spec);
/// What forward passes change: running statistics. f32, row-major, one after the other.
[[nodiscard]] std::vector<ParameterSpec> buffers_of(const OperatorSpec& spec);
/// How many elements the tensors have together, without padding.
[[nodiscard]] Size elements_of(std::span<const ParameterSpec> tensors);

}  // namespace ptbench
