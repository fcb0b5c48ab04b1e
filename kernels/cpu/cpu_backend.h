#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "src/device/device.h"
#include "src/device/isa.h"

namespace ptbench {

/// Version of the linked oneDNN, "2.6.3".
[[nodiscard]] std::string onednn_version();

/// Operators on one CPU device: oneDNN's one-thread primitives on each team member's part, and own
/// vector loops for the rest. The device outlives the backend, its plans and their operators.
class CpuBackend final : public KernelBackend {
 public:
  explicit CpuBackend(CpuDevice& device);

  [[nodiscard]] std::string name() const override { return "cpu"; }
  [[nodiscard]] std::optional<double> measure_peak_flops(const Clock& clock) const override;
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& spec) const override;
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override;

 private:
  CpuDevice& device_;
  Isa isa_;
};

}  // namespace ptbench
