#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/device/host_device.h"
#include "tests/support/forwarding_backend.h"

namespace ptbench::testing {

/// A backend of a device with memory of its own, for tests that hold memory of the host: operators,
/// optimizers and passes that are bound to it work on copies on the device, which are brought there
/// before each call and back after it.
class MirroredBackend final : public ForwardingBackend {
 public:
  /// `inner` outlives it.
  explicit MirroredBackend(const KernelBackend& inner) : inner_(inner) {}

  [[nodiscard]] std::string name() const override { return inner_.name(); }
  [[nodiscard]] Device& device() const override { return host_; }
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override;
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> arena, const std::vector<OwnedRange>& owned) const override;

 private:
  [[nodiscard]] const KernelBackend& inner() const override { return inner_; }

  const KernelBackend& inner_;
  mutable HostDevice host_;
};

}  // namespace ptbench::testing
