#include <utility>

#include "kernels/cpu/linear_direct.h"
#include "kernels/cpu/linear_grid.h"
#include "kernels/cpu/linear_pairs.h"
#include "kernels/cpu/operators.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr std::string_view kDirect = "direct";

/// From here on a library call always costs less than it saves.
constexpr double kDirectLimit = 1 << 20;

}  // namespace

std::vector<std::string> candidates_of(const LinearSpec& spec, int threads) {
  std::vector<std::string> names = linear_grid_candidates(spec, threads);
  for (std::string& name : linear_pairs_candidates(spec, threads)) names.push_back(std::move(name));
  const bool small = flops_of(spec).forward <= kDirectLimit;
  if (spec.type == ElementType::f32 && (names.empty() || small)) names.emplace_back(kDirect);
  ensure(!names.empty(), "every linear layer can be computed");
  return names;
}

std::unique_ptr<OperatorPlan> plan_operator(const LinearSpec& spec, std::string_view candidate,
                                            Team& team, Isa isa) {
  if (candidate == kDirect && spec.type == ElementType::f32) return plan_linear_direct(spec, isa);
  if (auto plan = plan_linear_pairs(spec, candidate, team)) return plan;
  return plan_linear_grid(spec, candidate, team, isa);
}

}  // namespace ptbench
