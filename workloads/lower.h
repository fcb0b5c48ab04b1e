#pragma once

#include <string>
#include <vector>

#include "kernels/spec.h"
#include "workloads/graph.h"

namespace ptbench {

/// What a graph is lowered for.
struct Lowering {
  Size batch = 0;                       ///< samples of a micro-batch
  Size global_batch = 0;                ///< samples over which the loss is a mean
  ElementType type = ElementType::f32;  ///< of what is multiplied, and so of activations
  /// Whether the host hands over data in the type of activations, so that no operator rounds them.
  bool narrow_data = false;
  /// Whether a loss follows the last layer. Else what leaves it goes on outside of the program, and
  /// its gradient comes from there.
  bool has_loss = true;

  [[nodiscard]] ElementType data_type() const {
    return narrow_data ? kept_type(type) : ElementType::f32;
  }
};

/// Index of the tensor that holds the data: batch × sample, plain, of the lowering's data_type().
constexpr Size kDataTensor = 0;
/// What a loss has for an output.
constexpr Size kNoTensor = -1;

/// Values between operators.
struct LoweredTensor {
  TensorSpec spec;
  Size producer = kNoTensor;        ///< operator; none for the data
  Size same_memory_as = kNoTensor;  ///< an earlier tensor that this one is another view of
  bool needs_gradient = false;      ///< something that is trained comes before it
};

/// One operator of a lowered graph.
struct LoweredOperator {
  OperatorSpec spec;
  std::string node;  ///< whose parameters these are
  std::vector<Size> inputs;
  Size output = kNoTensor;
};

/// A graph as operators over tensors, in forward order, the loss last where there is one. The data
/// enter it.
struct LoweredGraph {
  std::vector<LoweredTensor> tensors;
  std::vector<LoweredOperator> operators;
  Size leaving = kDataTensor;  ///< what the last layer makes: logits where there is a loss
  bool has_loss = true;

  /// How many operators are of layers: all but the loss, and the first ones.
  [[nodiscard]] std::size_t of_layers() const { return operators.size() - (has_loss ? 1 : 0); }
  /// Of a graph that has one.
  [[nodiscard]] const SoftmaxCrossEntropySpec& loss() const;
};

/// Where the gradients of an operator's output come from: (operator, input) pairs.
struct Use {
  Size reader = 0;
  std::size_t input = 0;
};
/// The uses of every tensor, in forward order.
[[nodiscard]] std::vector<std::vector<Use>> uses_of(const LoweredGraph& graph);

/// The operators of `graph`. What is fused: a ReLU that alone uses a linear layer, a batch norm or
/// a convolution with a bias; an addition that alone uses a batch norm or such a convolution of
/// what has a gradient. Images are native, everything else plain; the data stay plain for a
/// convolution. A tensor with several users is forked, unless a batch norm made it for two, which
/// sums their gradients itself.
[[nodiscard]] LoweredGraph lower(const Graph& graph, const Lowering& lowering);

}  // namespace ptbench
