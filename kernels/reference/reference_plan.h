#pragma once

#include "kernels/operator.h"

namespace ptbench {

/// The oracle's plan of any operator: parameters lie row-major, one tensor after the other, zeros
/// up to the next multiple of 16 elements, all owned by member 0; every tensor is row-major.
class ReferencePlan final : public OperatorPlan {
 public:
  /// Broken invariant if the operator is empty or its numbers contradict each other.
  explicit ReferencePlan(const OperatorSpec& spec);

  [[nodiscard]] ParameterLayout layout() const override;
  [[nodiscard]] Bytes saved_bytes() const override;
  [[nodiscard]] Bytes scratch_bytes() const override;
  [[nodiscard]] std::string description() const override;
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override;
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override;
  /// Broken invariant unless all memory has the size that the spec says.
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override;

 private:
  OperatorSpec spec_;
};

}  // namespace ptbench
