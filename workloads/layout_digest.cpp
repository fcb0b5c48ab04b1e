#include "workloads/layout_digest.h"

#include <bit>
#include <span>
#include <vector>

#include "src/base/hash.h"
#include "src/device/memory.h"

namespace ptbench {
namespace {

/// Below it, every whole number is a float.
constexpr Size kWholeFloats = Size{1} << 24U;

}  // namespace

/// From an arena into which numbers were imported that tell the parameters apart.
std::uint64_t layout_digest(const OperatorSpec& spec, const OperatorPlan& plan) {
  std::vector<std::vector<float>> tensors;
  Size next = 0;
  for (const ParameterSpec& tensor : parameters_of(spec)) {
    tensors.emplace_back(static_cast<std::size_t>(tensor.shape.elements()));
    for (float& value : tensors.back()) value = static_cast<float>(++next % kWholeFloats);
  }
  if (tensors.empty()) return 0;
  HostMemorySource memory;
  const Buffer arena = memory.allocate(float_bytes(plan.layout().elements), "a layout");
  plan.import_parameters(std::vector<std::span<const float>>(tensors.begin(), tensors.end()),
                         arena.as<float>());
  std::uint64_t hash = fnv1a("");
  for (const float value : arena.as<float>())
    hash = fnv1a_word(std::bit_cast<std::uint32_t>(value), hash);
  return hash;
}

std::uint64_t layout_digest(const ProgramPlan& plan) {
  std::uint64_t hash = fnv1a("");
  for (std::size_t i = 0; i < plan.steps().size(); ++i)
    hash = fnv1a_word(layout_digest(plan.graph().operators[i].spec, *plan.steps()[i].plan), hash);
  return hash;
}

}  // namespace ptbench
