#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/spec.h"
#include "kernels/tensor.h"
#include "src/base/function_ref.h"
#include "src/base/size.h"

namespace ptbench {

/// A part of a gradient range and the team member that computes it, and therefore updates it.
struct OwnedRange {
  Range range;
  int member = 0;
  friend bool operator==(const OwnedRange&, const OwnedRange&) = default;
};

/// What a backward pass does with the gradients of parameters that are there already.
enum class GradientMode : std::uint8_t { replace, add };

/// How an operator wants its part of the parameter arena. Gradients and optimizer state have the
/// same layout, which nobody else looks into: all-reduce and optimizers work element by element.
struct ParameterLayout {
  Size elements = 0;              ///< floats, padding included; a multiple of 16
  std::vector<OwnedRange> owned;  ///< disjoint, ascending, covering all elements
};

/// The memory that a planned operator works on, all of it aligned to 64 bytes (scratch memory of a
/// CUDA device to 256) and outliving the operator. Tensors are as tensors_of(spec) and
/// KernelBackend::bytes_of say.
struct Bindings {
  std::vector<std::span<const std::byte>> inputs;
  std::span<std::byte> output;
  /// gradient_terms of them; empty where there is no backward pass.
  std::vector<std::span<const std::byte>> output_gradients;
  /// One an input; empty where nobody needs it. Never overlaps another tensor.
  std::vector<std::span<std::byte>> input_gradients;
  std::span<const float> parameters;
  std::span<float> gradients;
  std::span<float> buffers;              ///< buffers_of(spec), one after the other
  std::span<const std::int32_t> labels;  ///< of a loss
  std::span<float> loss;                 ///< one element, of a loss
  std::span<const float> loss_scale;     ///< one element, of a loss
  /// What parameters_changed() makes of the parameters; zero when bound.
  std::span<std::byte> prepared;
  std::span<std::byte> saved;    ///< kept from forward to backward; zero when bound
  std::span<std::byte> scratch;  ///< anything between two calls; others use it too
  std::span<std::byte> addends;  ///< likewise; empty where backward never adds
};

/// Updates a piece of the parameters by its gradients, on the team member that has just computed
/// them and still has them in its caches. No two members update the same piece.
using UpdatePiece = FunctionRef<void(int member, Range piece, std::span<const float> gradients)>;

/// An operator that is ready to run: it allocates nothing, creates nothing, looks nothing up.
class Operator {
 public:
  virtual ~Operator() = default;
  /// In training.
  virtual void forward() = 0;
  /// As a trained model computes it; no backward follows.
  virtual void evaluate() { forward(); }
  /// After `forward` on the same data. Writes input gradients, and writes or adds to the gradients
  /// of parameters.
  virtual void backward(GradientMode mode) = 0;
  /// The parameters are others than in the call before: makes the prepared memory anew, for all
  /// operators that are bound to it. Called before the next pass.
  virtual void parameters_changed() {}
  /// Whether backward_and_update may be called instead of backward(GradientMode::replace).
  [[nodiscard]] virtual bool updates_in_backward() const { return false; }
  /// The backward pass with the update of this operator's parameters in its midst: `update` is
  /// called for pieces that cover all of its part of the arena but padding. The operator knows the
  /// new parameters. Gradients of parameters are written to Bindings::gradients where they are to
  /// be kept, which costs their way through memory, else to wherever is near.
  virtual void backward_and_update(bool keep_gradients, UpdatePiece update);
};

/// How an operator is computed: shapes, type, device and choice made it, and nothing else. Holds no
/// memory for data; `bind` makes the operator that runs on given memory.
class OperatorPlan {
 public:
  virtual ~OperatorPlan() = default;
  [[nodiscard]] virtual ParameterLayout layout() const { return {}; }
  [[nodiscard]] virtual Bytes prepared_bytes() const { return 0; }
  [[nodiscard]] virtual Bytes saved_bytes() const { return 0; }
  [[nodiscard]] virtual Bytes scratch_bytes() const { return 0; }
  /// Memory that backward needs besides to add gradients, where a library only overwrites.
  [[nodiscard]] virtual Bytes addend_bytes() const { return 0; }
  /// Everything that decides the arithmetic (layout, algorithm, partition), for the plan's hash.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Operations of its matrix products and convolutions as they are executed, where that differs
  /// from flops_of(spec).
  [[nodiscard]] virtual std::optional<Flops> executed_flops() const { return std::nullopt; }
  /// Row-major tensors, in the order of parameters_of, to and from this plan's layout.
  virtual void import_parameters(std::span<const std::span<const float>> tensors,
                                 std::span<float> arena) const;
  virtual void export_parameters(std::span<const float> arena,
                                 std::span<const std::span<float>> tensors) const;
  [[nodiscard]] virtual std::unique_ptr<Operator> bind(const Bindings& bindings) const = 0;
};

}  // namespace ptbench
