#pragma once

#include <string>
#include <variant>
#include <vector>

#include "kernels/operator.h"
#include "src/base/shape.h"
#include "src/base/size.h"

namespace ptbench {

/// Layers as people name them; shapes of one sample are derived, so batch size is not part of a
/// graph.
struct LinearLayer {
  Size outputs = 0;
};
struct ReluLayer {};
using Layer = std::variant<LinearLayer, ReluLayer>;

/// One layer and where its input comes from.
struct Node {
  std::string name;  ///< unique; parameters are NAME.weight, NAME.bias
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
  /// fit.
  [[nodiscard]] std::vector<Shape> output_shapes() const;
  /// Scalars that training changes.
  [[nodiscard]] Size parameter_count() const;
  /// Floating-point operations of one sample's forward and backward pass.
  [[nodiscard]] double flops_per_sample() const;
};

}  // namespace ptbench
