#include "kernels/cpu/cpu_backend.h"

#include <fmt/format.h>

#include "kernels/cpu/linear_direct.h"
#include "kernels/cpu/linear_grid.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/peak.h"
#include "kernels/cpu/relu.h"
#include "kernels/cpu/softmax_cross_entropy.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr std::string_view kDirect = "direct";
constexpr std::string_view kVector = "vector";  // the one way of operators that have one way

/// From here on a library call always costs less than it saves.
constexpr double kDirectLimit = 1 << 20;

}  // namespace

std::string onednn_version() { return onednn::version(); }

CpuBackend::CpuBackend(CpuDevice& device) : device_(device), isa_(detect_isa()) {}

std::optional<double> CpuBackend::measure_peak_flops(const Clock& clock) const {
  return measure_fma_peak(device_.team(), device_.team().size(), isa_, clock);
}

std::string CpuBackend::fingerprint() const {
  return fmt::format("cpu {} {} oneDNN {} threads {}", device_.name(), name_of(isa_),
                     onednn::version(), device_.team().size());
}

std::vector<std::string> CpuBackend::candidates(const OperatorSpec& spec) const {
  const auto* linear = std::get_if<LinearSpec>(&spec);
  if (linear == nullptr) return {std::string(kVector)};
  std::vector<std::string> names = linear_grid_candidates(*linear, device_.team().size());
  if (names.empty() || flops_of(spec).forward <= kDirectLimit) names.emplace_back(kDirect);
  return names;
}

std::unique_ptr<OperatorPlan> CpuBackend::plan(const OperatorSpec& spec,
                                               std::string_view candidate) const {
  if (const auto* linear = std::get_if<LinearSpec>(&spec)) {
    if (candidate == kDirect) return plan_linear_direct(*linear, isa_);
    if (auto plan = plan_linear_grid(*linear, candidate, device_.team(), isa_)) return plan;
  } else if (candidate == kVector) {
    if (const auto* relu = std::get_if<ReluSpec>(&spec))
      return plan_relu(*relu, device_.team(), isa_);
    if (const auto* loss = std::get_if<SoftmaxCrossEntropySpec>(&spec))
      return plan_softmax_cross_entropy(*loss, device_.team());
  }
  throw usage_error(
      fmt::format("'{}' on this CPU cannot be computed as '{}'", key_of(spec), candidate),
      "let ptbench choose anew: remove the plan file that says so");
}

std::unique_ptr<Optimizer> CpuBackend::plan_optimizer(const OptimizerSpec& spec,
                                                      const OptimizerArenas& arenas,
                                                      const std::vector<OwnedRange>& owned) const {
  return plan_cpu_optimizer(spec, arenas, owned, device_.team(), isa_);
}

}  // namespace ptbench
