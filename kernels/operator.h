#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "src/base/shape.h"
#include "src/base/size.h"

namespace ptbench {

/// y = x·Wᵀ + b, then max(0, y) where `relu`. x is batch × inputs, y batch × outputs, row-major;
/// W is outputs × inputs when exported. Operations: 2·batch·inputs·outputs a pass.
struct LinearSpec {
  Size batch = 0;
  Size inputs = 0;
  Size outputs = 0;
  bool relu = false;
  bool input_gradient = true;  ///< false for the first layer: nobody needs the gradient of data
  friend bool operator==(const LinearSpec&, const LinearSpec&) = default;
};

/// y = max(0, x), element by element.
struct ReluSpec {
  Size elements = 0;
  bool input_gradient = true;
  friend bool operator==(const ReluSpec&, const ReluSpec&) = default;
};

/// Mean cross-entropy of softmax(logits) over `global_batch` samples, of which `batch` are here.
/// forward writes this part's share of the loss (sum of its samples / global_batch); backward
/// writes the gradient of the logits.
struct SoftmaxCrossEntropySpec {
  Size batch = 0;
  Size classes = 0;
  Size global_batch = 0;
  friend bool operator==(const SoftmaxCrossEntropySpec&, const SoftmaxCrossEntropySpec&) = default;
};

/// What an operator computes, without saying how.
using OperatorSpec = std::variant<LinearSpec, ReluSpec, SoftmaxCrossEntropySpec>;

/// Names the operator and every number that decides how it is best computed: "linear
/// b128 784->1024 relu". Keys of plans.
[[nodiscard]] std::string key_of(const OperatorSpec& spec);

/// Floating-point operations of one forward pass and one backward pass; a multiply-add is two.
/// Counts matrix products only, as is usual.
struct Flops {
  double forward = 0;
  double backward = 0;
};
[[nodiscard]] Flops flops_of(const OperatorSpec& spec);

/// Floats of an operator's input and output, and labels of a loss; 0 where it has none.
struct TensorElements {
  Size input = 0;
  Size output = 0;
  Size labels = 0;
};
[[nodiscard]] TensorElements elements_of(const OperatorSpec& spec);

/// A parameter tensor of an operator as the outside knows it: row-major, with PyTorch's name and
/// initialisation bound.
struct ParameterSpec {
  std::string name;  ///< "weight", "bias"
  Shape shape;       ///< row-major, as PyTorch has it
  float bound = 0;   ///< drawn uniformly from [-bound, bound)
};
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const OperatorSpec& spec);

/// A part of a gradient range and the team member that computes it, and therefore updates it.
struct OwnedRange {
  Range range;
  int member = 0;
  friend bool operator==(const OwnedRange&, const OwnedRange&) = default;
};

/// How an operator wants its part of the parameter arena. Gradients and optimizer state have the
/// same layout, which nobody else looks into: all-reduce and optimizers work element by element.
struct ParameterLayout {
  Size elements = 0;              ///< floats, padding included; a multiple of 16
  std::vector<OwnedRange> owned;  ///< disjoint, ascending, covering all elements
};

/// The memory that a planned operator works on. Everything outlives the operator. Activations are
/// row-major; a span is empty where the operator has no such tensor.
struct Bindings {
  std::span<const float> input;
  std::span<float> output;
  std::span<const float> output_gradient;
  std::span<float> input_gradient;
  std::span<const float> parameters;
  std::span<float> gradients;
  std::span<const std::int32_t> labels;  ///< of a loss
  std::span<float> loss;                 ///< one element, of a loss
  std::span<std::byte> workspace;        ///< aligned to 64 bytes, zero when bound
};

/// An operator that is ready to run: it allocates nothing, creates nothing, looks nothing up.
class Operator {
 public:
  virtual ~Operator() = default;
  virtual void forward() = 0;
  /// After `forward` on the same data. Writes (does not add to) gradients and input gradient.
  virtual void backward() = 0;
};

/// How an operator is computed: shapes, type, device and choice made it, and nothing else. Holds no
/// memory for data; `bind` makes the operator that runs on given memory.
class OperatorPlan {
 public:
  virtual ~OperatorPlan() = default;
  [[nodiscard]] virtual ParameterLayout layout() const { return {}; }
  [[nodiscard]] virtual Bytes workspace_bytes() const { return 0; }
  /// Everything that decides the arithmetic (layout, algorithm, partition), for the plan's hash.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Row-major tensors, in the order of parameters_of, to and from this plan's layout.
  virtual void import_parameters(std::span<const std::span<const float>> tensors,
                                 std::span<float> arena) const;
  virtual void export_parameters(std::span<const float> arena,
                                 std::span<const std::span<float>> tensors) const;
  [[nodiscard]] virtual std::unique_ptr<Operator> bind(const Bindings& bindings) const = 0;
};

}  // namespace ptbench
