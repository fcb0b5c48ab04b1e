#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operator.h"
#include "kernels/optimizer.h"
#include "src/base/clock.h"

namespace ptbench {

/// The operators of one kind of device. `reference` is the oracle of the others.
class KernelBackend {
 public:
  virtual ~KernelBackend() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Operations a second that the device reaches on fp32 multiply-adds, measured now; empty where
  /// nobody measures it.
  [[nodiscard]] virtual std::optional<double> measure_peak_flops(const Clock& /*clock*/) const {
    return std::nullopt;
  }
  /// What plans depend on beyond the shapes: library versions, instruction set, team size.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// The ways in which this backend can compute `spec`, the safest bet first; never empty.
  [[nodiscard]] virtual std::vector<std::string> candidates(const OperatorSpec& spec) const = 0;
  /// A pure function of its arguments. Throws a usage error for a candidate that it does not have.
  [[nodiscard]] virtual std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                           std::string_view candidate) const = 0;
  /// `owned`: who updates which range, as the operators' layouts say, ascending.
  [[nodiscard]] virtual std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const = 0;
};

}  // namespace ptbench
