#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/guarded_buffer.h"

namespace ptbench::testing {

/// What an operator is fed with, row-major; vectors that it has no use for are empty.
struct OperatorData {
  std::vector<float> input;
  std::vector<float> output_gradient;
  std::vector<std::vector<float>> parameters;  ///< in the order of parameters_of
  std::vector<std::int32_t> labels;
};

/// Uniform values; or small integers, whose products and sums are exact in float in any order, so
/// that every correct operator gives the very same bits.
enum class Values { uniform, integers };

/// A function of its arguments; every element differs from its neighbours.
[[nodiscard]] OperatorData make_data(const OperatorSpec& spec, std::uint64_t seed, Values values);

/// What one forward and backward pass gave, row-major; empty where the operator has no such result.
struct OperatorResult {
  std::vector<float> output;
  std::vector<float> input_gradient;
  std::vector<std::vector<float>> gradients;  ///< in the order of parameters_of
  std::vector<float> loss;
};

/// The same bits everywhere (NaN equals itself, 0 and −0 differ).
[[nodiscard]] bool same_bits(std::span<const float> a, std::span<const float> b);
[[nodiscard]] bool same_bits(const OperatorResult& a, const OperatorResult& b);

/// One operator on memory of its own, as a program would bind it: spans exactly as long as the
/// shapes say, zero-filled arenas and workspace, canaries round each.
class OperatorHarness {
 public:
  OperatorHarness(const KernelBackend& backend, const OperatorSpec& spec,
                  std::string_view candidate, const OperatorData& data);

  /// One forward and one backward pass. What the pass before left in the outputs is overwritten
  /// with NaN first, so that results which are added to or left out show.
  [[nodiscard]] OperatorResult run();

  [[nodiscard]] const OperatorPlan& plan() const { return *plan_; }
  /// The parameters as the plan exports them.
  [[nodiscard]] std::vector<std::vector<float>> exported_parameters() const;
  /// That nothing was written behind or before any buffer, nor to any input.
  [[nodiscard]] bool memory_intact() const;
  /// That the elements which belong to no tensor are zero in parameters and gradients.
  [[nodiscard]] bool padding_is_zero() const;

 private:
  [[nodiscard]] std::vector<std::vector<float>> exported(std::span<const float> arena) const;
  [[nodiscard]] std::vector<bool> find_padding() const;
  void forget_results();

  std::vector<ParameterSpec> parameter_specs_;
  OperatorData data_;
  std::unique_ptr<OperatorPlan> plan_;
  GuardedBuffer<float> input_;
  GuardedBuffer<float> output_;
  GuardedBuffer<float> output_gradient_;
  GuardedBuffer<float> input_gradient_;
  GuardedBuffer<float> parameters_;
  GuardedBuffer<float> gradients_;
  GuardedBuffer<std::int32_t> labels_;
  GuardedBuffer<float> loss_;
  GuardedBuffer<std::int32_t> workspace_;
  std::vector<bool> is_padding_;
  std::vector<float> imported_;  ///< the parameter arena after import
  std::unique_ptr<Operator> operator_;
};

}  // namespace ptbench::testing
