#pragma once

#include <string>
#include <vector>

#include "kernels/tensor.h"
#include "src/base/shape.h"
#include "src/base/size.h"
#include "workloads/layer.h"

namespace ptbench {

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
  /// Layers with a corner or a bend: ReLU, GELU, maxima.
  [[nodiscard]] Size nonlinear_layers() const;
};

/// 16 hexadecimal digits over what a model computes: input shape, classes, layers with their
/// parameters and how these are drawn, who feeds whom, and the loss. Names of layers have no part
/// in it, nor has the host: equal digests are equal work.
[[nodiscard]] std::string graph_digest(const Graph& graph);

}  // namespace ptbench
