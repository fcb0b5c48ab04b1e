#include "kernels/reference/reference_backend.h"

#include <fmt/format.h>

#include "kernels/reference/reference_arena_passes.h"
#include "kernels/reference/reference_optimizer.h"
#include "kernels/reference/reference_plan.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

constexpr std::string_view kCandidate = "reference";

}  // namespace

std::vector<std::string> ReferenceBackend::candidates(const OperatorSpec& /*spec*/) const {
  return {std::string(kCandidate)};
}

std::unique_ptr<OperatorPlan> ReferenceBackend::plan(const OperatorSpec& spec,
                                                     std::string_view candidate) const {
  if (candidate != kCandidate)
    throw usage_error(fmt::format("the reference backend has no candidate '{}' for '{}'",
                                  printable(candidate), key_of(spec)),
                      "use 'reference'");
  return std::make_unique<ReferencePlan>(spec);
}

std::unique_ptr<Optimizer> ReferenceBackend::plan_optimizer(
    const OptimizerSpec& spec, const OptimizerArenas& arenas,
    const std::vector<OwnedRange>& /*owned*/) const {
  return std::make_unique<ReferenceOptimizer>(spec, arenas);
}

std::unique_ptr<ArenaPasses> ReferenceBackend::plan_arena_passes(
    std::span<float> arena, const std::vector<OwnedRange>& /*owned*/) const {
  return std::make_unique<ReferenceArenaPasses>(arena);
}

}  // namespace ptbench
