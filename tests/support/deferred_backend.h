#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/deferred_device.h"
#include "tests/support/forwarding_backend.h"

namespace ptbench::testing {

/// The operators of a deferred device's inner backend, which its queue for computing runs.
class DeferredBackend final : public ForwardingBackend {
 public:
  explicit DeferredBackend(DeferredDevice& device) : device_(device) {}

  [[nodiscard]] std::string name() const override { return "deferred"; }
  [[nodiscard]] Device& device() const override { return device_; }
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override;
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> arena, const std::vector<OwnedRange>& owned) const override;

 private:
  [[nodiscard]] const KernelBackend& inner() const override { return *device_.inner().backend; }

  DeferredDevice& device_;
};

}  // namespace ptbench::testing
