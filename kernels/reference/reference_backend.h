#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "src/device/host_device.h"

namespace ptbench {

/// The oracle of every other backend: plain loops on the calling thread, sums in double, results
/// rounded once. One candidate, "reference"; ReferencePlan says how things lie.
class ReferenceBackend final : public KernelBackend {
 public:
  [[nodiscard]] std::string name() const override { return "reference"; }
  [[nodiscard]] Device& device() const override { return device_; }
  [[nodiscard]] std::string fingerprint() const override { return "reference"; }
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& spec) const override;
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override;
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> arena, const std::vector<OwnedRange>& owned) const override;

 private:
  mutable HostDevice device_;
};

}  // namespace ptbench
