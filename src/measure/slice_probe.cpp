#include "src/measure/slice_probe.h"

#include <algorithm>
#include <string>

#include "src/device/core_latency.h"

namespace ptbench {
namespace {

std::optional<double> worse(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::max(*one, *other) : one ? one : other;
}

std::optional<std::string> placement_over(const SliceConditions& conditions) {
  const auto begin = conditions.core_latency_begin;
  const auto end = conditions.core_latency_end;
  if (conditions.cores_disturbed || (!begin && !end)) return std::nullopt;
  const CorePlacement first = placement_of(begin ? *begin : *end);
  const CorePlacement last = placement_of(end ? *end : *begin);
  return first == last ? std::string(name_of(first)) : "mixed";
}

}  // namespace

void classify(SliceRecord& slice, const SliceConditions& conditions) {
  slice.core_latency_seconds = worse(conditions.core_latency_begin, conditions.core_latency_end);
  slice.placement = placement_over(conditions);
  slice.foreign_cpu_fraction = conditions.foreign_cpu_fraction;
  slice.steal_fraction = conditions.steal_fraction;
  slice.frequency_hertz = conditions.frequency_hertz;
  slice.joules = conditions.joules;
  slice.clean = !conditions.cores_disturbed && slice.placement != "mixed" &&
                conditions.foreign_cpu_fraction.value_or(0) <= kCleanForeignFraction &&
                conditions.steal_fraction.value_or(0) <= kCleanStealFraction;
}

}  // namespace ptbench
