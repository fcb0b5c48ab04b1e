#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "src/device/host_device.h"

namespace ptbench::testing {

/// A backend of a device with memory of its own, for tests that hold memory of the host: operators,
/// optimizers and passes that are bound to it work on copies on the device, which are brought there
/// before each call and back after it.
class MirroredBackend final : public KernelBackend {
 public:
  /// `inner` outlives it.
  explicit MirroredBackend(const KernelBackend& inner) : inner_(inner) {}

  [[nodiscard]] std::string name() const override { return inner_.name(); }
  [[nodiscard]] Device& device() const override { return host_; }
  [[nodiscard]] std::string fingerprint() const override { return inner_.fingerprint(); }
  [[nodiscard]] Bytes bytes_of(const TensorSpec& tensor) const override {
    return inner_.bytes_of(tensor);
  }
  void import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                     std::span<std::byte> memory) const override {
    inner_.import_tensor(tensor, row_major, memory);
  }
  void export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                     std::span<float> row_major) const override {
    inner_.export_tensor(tensor, memory, row_major);
  }
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& spec) const override {
    return inner_.candidates(spec);
  }
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override;
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> arena, const std::vector<OwnedRange>& owned) const override;

 private:
  const KernelBackend& inner_;
  mutable HostDevice host_;
};

}  // namespace ptbench::testing
