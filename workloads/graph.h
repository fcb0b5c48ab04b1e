#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kernels/spec.h"
#include "src/base/shape.h"
#include "src/base/size.h"

namespace ptbench {

// Layers as people name them; shapes of one sample are derived, so batch size is not part of a
// graph. Images are channels × height × width, everything else is a row of values.

/// nn.Linear; an image that enters it is an error (flatten it first).
struct LinearLayer {
  Size outputs = 0;
};

/// How convolution weights are drawn: as nn.Conv2d does, or as torchvision's ResNets do
/// (He et al. 2015: normal with variance 2 / (outputs · kernel)).
enum class ConvInit : std::uint8_t { uniform, kaiming_normal };

struct Conv2dLayer {
  Size outputs = 0;
  Window window;
  bool bias = true;
  ConvInit init = ConvInit::uniform;
};

/// Of an image per channel, of a row per value.
struct BatchNormLayer {};
struct ReluLayer {};
struct GeluLayer {};

struct PoolLayer {
  PoolKind kind = PoolKind::max;
  Window window;
};

/// Each channel's maximum or average over the whole image; gives channels × 1 × 1.
struct GlobalPoolLayer {
  PoolKind kind = PoolKind::average;
};

/// An image as a row, in row-major order.
struct FlattenLayer {};
/// The sum of two tensors of the same shape.
struct AddLayer {};

using Layer = std::variant<LinearLayer, Conv2dLayer, BatchNormLayer, ReluLayer, GeluLayer,
                           PoolLayer, GlobalPoolLayer, FlattenLayer, AddLayer>;

/// One layer and where its input comes from.
struct Node {
  std::string name;  ///< unique; tensors are NAME.weight, NAME.bias, …
  Layer layer;
  std::vector<Size> inputs;  ///< indices of earlier nodes; -1 is the graph's input
};

/// A model: nodes in an order in which every input comes before its user. The last node's output
/// are the logits; the loss is mean cross-entropy over them.
struct Graph {
  Shape input_shape;  ///< of one sample
  Size classes = 0;
  std::vector<Node> nodes;

  /// Shape of one sample after each node. Throws a usage error that names the layer that does not
  /// fit (shapes, sizes below 1, tensors of more than 2^40 elements, more than 2^40 parameters).
  [[nodiscard]] std::vector<Shape> output_shapes() const;
  /// Scalars that training changes.
  [[nodiscard]] Size parameter_count() const;
  /// Floating-point operations of one sample's forward and backward pass.
  [[nodiscard]] double flops_per_sample() const;
  /// Bytes of one sample's activations with elements of `type`: what the layers give, each once.
  [[nodiscard]] double activation_bytes_per_sample(ElementType type) const;
  [[nodiscard]] bool has_batch_norm() const;
  /// Layers with a corner or a bend: ReLU, GELU, max-pooling.
  [[nodiscard]] Size nonlinear_layers() const;
};

/// Sizes above this are refused: no tensor and no model has more elements. What
/// remains can be multiplied by an element's bytes or by a large batch without overflow.
constexpr Size kMostElements = Size{1} << 40U;

}  // namespace ptbench
