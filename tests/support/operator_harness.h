#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "src/base/function_ref.h"
#include "tests/support/guarded_buffer.h"

namespace ptbench::testing {

/// Row-major tensors, one after the other.
using Tensors = std::vector<std::vector<float>>;

/// What an operator is fed with, row-major; vectors that it has no use for are empty.
struct OperatorData {
  Tensors inputs;            ///< representable in the type of each
  Tensors output_gradients;  ///< likewise
  Tensors parameters;        ///< in the order of parameters_of
  Tensors buffers;           ///< before each pass, in the order of buffers_of
  std::vector<std::int32_t> labels;
  float loss_scale = 1;
  std::optional<std::size_t> unneeded;  ///< the input whose gradient nobody needs
};

/// Uniform values in [-1, 1); or small integers, whose products and sums are exact in float in any
/// order (and for narrow types so small that sums are exact in them, too), so that every correct
/// operator gives the very same bits.
enum class Values { uniform, integers };

/// A function of its arguments; every element differs from its neighbours.
[[nodiscard]] OperatorData make_data(const OperatorSpec& spec, std::uint64_t seed, Values values);

/// What one forward and backward pass gave, row-major; empty where the operator has no such result.
struct OperatorResult {
  std::vector<float> output;
  Tensors input_gradients;  ///< one an input, empty where nobody needs it
  Tensors gradients;        ///< in the order of parameters_of
  Tensors buffers;          ///< in the order of buffers_of
  std::vector<float> loss;
};

/// The same bits everywhere (NaN equals itself, 0 and −0 differ).
[[nodiscard]] bool same_bits(std::span<const float> a, std::span<const float> b);
[[nodiscard]] bool same_bits(const Tensors& a, const Tensors& b);
[[nodiscard]] bool same_bits(const OperatorResult& a, const OperatorResult& b);
/// Equal values everywhere (0 and −0 are).
[[nodiscard]] bool same_values(std::span<const float> a, std::span<const float> b);
[[nodiscard]] bool same_values(const Tensors& a, const Tensors& b);

/// One operator on memory of its own, as a program would bind it: spans exactly as long as plan and
/// backend say, zero-filled arenas, prepared and saved memory, canaries round each. The backend
/// outlives it.
class OperatorHarness {
 public:
  OperatorHarness(const KernelBackend& backend, const OperatorSpec& spec,
                  std::string_view candidate, const OperatorData& data);

  /// One forward and one backward pass. What the pass before left in outputs and scratch memory is
  /// overwritten with NaN first, so that results which are added to or left out show.
  [[nodiscard]] OperatorResult run();
  /// The same, but backward adds to `gradients`, in the order of parameters_of.
  [[nodiscard]] OperatorResult add_to(const Tensors& gradients);
  /// The same with an update in the midst of the backward pass, which takes the gradients from the
  /// parameters; `gradients` are those that were updated by. Every element is told of once at most.
  [[nodiscard]] OperatorResult run_and_update(bool keep_gradients);
  [[nodiscard]] bool updates_in_backward() const { return operator_->updates_in_backward(); }
  /// Those in the memory of gradients.
  [[nodiscard]] Tensors kept_gradients() const { return exported(gradients_.span()); }
  /// One pass as a trained model computes it; no gradients.
  [[nodiscard]] OperatorResult evaluate();
  /// Others, as an optimizer would leave them behind.
  void set_parameters(const Tensors& parameters);

  [[nodiscard]] const OperatorPlan& plan() const { return *plan_; }
  /// The parameters as the plan exports them.
  [[nodiscard]] Tensors exported_parameters() const;
  /// That nothing was written behind or before any buffer, nor to any input.
  [[nodiscard]] bool memory_intact() const;
  /// That the elements which belong to no tensor are zero in parameters and gradients, and were in
  /// every native tensor that a pass wrote.
  [[nodiscard]] bool padding_is_zero() const;

 private:
  using Memory = std::vector<GuardedBuffer<std::byte>>;

  [[nodiscard]] Memory allocate(const std::vector<TensorSpec>& tensors) const;
  [[nodiscard]] Memory imported(const std::vector<TensorSpec>& tensors, const Tensors& data) const;
  [[nodiscard]] Bindings bindings() const;
  [[nodiscard]] std::vector<float> export_result(const TensorSpec& tensor,
                                                 std::span<const std::byte> memory);
  [[nodiscard]] OperatorResult results();
  [[nodiscard]] std::span<std::byte> output_memory() const;
  [[nodiscard]] Tensors exported(std::span<const float> arena) const;
  [[nodiscard]] Tensors buffer_tensors() const;
  [[nodiscard]] std::vector<bool> find_padding() const;
  [[nodiscard]] OperatorResult run_passes(FunctionRef<void(Operator&)> backward);
  void forget_results();
  void forget_gradients() const;
  void forget_scratch() const;

  const KernelBackend* backend_;
  OperatorTensors tensors_;
  std::vector<ParameterSpec> parameter_specs_;
  std::vector<ParameterSpec> buffer_specs_;
  bool is_fork_;
  OperatorData data_;
  std::unique_ptr<OperatorPlan> plan_;
  Memory inputs_;
  Memory output_;  ///< one or none
  Memory output_gradients_;
  Memory input_gradients_;  ///< empty buffers where nobody needs them
  GuardedBuffer<float> parameters_;
  GuardedBuffer<float> gradients_;
  GuardedBuffer<float> buffers_;
  GuardedBuffer<std::int32_t> labels_;
  GuardedBuffer<float> loss_;
  GuardedBuffer<float> loss_scale_;
  GuardedBuffer<std::byte> prepared_;
  GuardedBuffer<std::byte> saved_;
  GuardedBuffer<std::byte> scratch_;
  GuardedBuffer<std::byte> addends_;
  std::vector<bool> is_padding_;
  std::vector<float> imported_;              ///< the parameter arena after import
  std::vector<std::vector<std::byte>> fed_;  ///< inputs, then output gradients, after import
  bool tensors_padded_with_zeros_ = true;
  std::unique_ptr<Operator> operator_;
};

}  // namespace ptbench::testing
