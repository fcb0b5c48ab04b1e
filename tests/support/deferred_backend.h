#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/deferred_device.h"

namespace ptbench::testing {

/// The operators of a deferred device's inner backend, which its queue for computing runs.
class DeferredBackend final : public KernelBackend {
 public:
  explicit DeferredBackend(DeferredDevice& device) : device_(device) {}

  [[nodiscard]] std::string name() const override { return "deferred"; }
  [[nodiscard]] Device& device() const override { return device_; }
  [[nodiscard]] std::string fingerprint() const override { return inner().fingerprint(); }
  [[nodiscard]] Bytes bytes_of(const TensorSpec& tensor) const override {
    return inner().bytes_of(tensor);
  }
  void import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                     std::span<std::byte> memory) const override {
    inner().import_tensor(tensor, row_major, memory);
  }
  void export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                     std::span<float> row_major) const override {
    inner().export_tensor(tensor, memory, row_major);
  }
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& spec) const override {
    return inner().candidates(spec);
  }
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override;
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> arena, const std::vector<OwnedRange>& owned) const override;

 private:
  [[nodiscard]] const KernelBackend& inner() const { return *device_.inner().backend; }

  DeferredDevice& device_;
};

}  // namespace ptbench::testing
