#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "src/device/cpu_device.h"
#include "src/device/isa.h"

namespace ptbench {

/// Version of the linked oneDNN, "2.6.3".
[[nodiscard]] std::string onednn_version();
/// The best instructions that it uses in this process, "avx512_core"; PTBENCH_ISA lowers them.
[[nodiscard]] std::string onednn_instructions();

/// Operators on one CPU device: oneDNN's one-thread primitives on each team member's part, and own
/// vector loops for the rest. Native images are blocked (image.h). The device outlives the backend,
/// its plans and their operators.
class CpuBackend final : public KernelBackend {
 public:
  explicit CpuBackend(CpuDevice& device);

  [[nodiscard]] std::string name() const override { return "cpu"; }
  [[nodiscard]] Device& device() const override { return device_; }
  [[nodiscard]] std::optional<MeasuredPeak> measure_peak(ElementType type, const Clock& clock,
                                                         PeakEffort effort) const override;
  [[nodiscard]] double seconds_of(FunctionRef<void()> work, const Clock& clock) const override;
  [[nodiscard]] std::string fingerprint() const override;

  [[nodiscard]] Bytes bytes_of(const TensorSpec& tensor) const override;
  void import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                     std::span<std::byte> memory) const override;
  void export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                     std::span<float> row_major) const override;

  /// Like `plan`, throws a capability error for matrix products in bf16 where the CPU has none.
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& spec) const override;
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override;
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> arena, const std::vector<OwnedRange>& owned) const override;

 private:
  CpuDevice& device_;
  Isa isa_;
};

}  // namespace ptbench
