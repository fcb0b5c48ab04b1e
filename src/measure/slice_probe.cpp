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

/// Whether something that is known disturbed it.
bool is_disturbed(const SliceRecord& slice) {
  return slice.placement == "mixed" || slice.foreign_cpu_fraction > kCleanForeignFraction ||
         slice.steal_fraction > kCleanStealFraction || is_throttled(slice) || is_shared(slice);
}

/// False stays false: what else disturbed the slice is seen by whoever measures it.
void judge(SliceRecord& slice, bool device_unwatched) {
  if (slice.clean == false) return;
  slice.clean.reset();
  if (is_disturbed(slice))
    slice.clean = false;
  else if (slice.foreign_cpu_fraction && slice.steal_fraction && !device_unwatched)
    slice.clean = true;
}

}  // namespace

void classify(SliceRecord& slice, const SliceConditions& conditions) {
  slice.core_latency_seconds = worse(conditions.core_latency_begin, conditions.core_latency_end);
  slice.placement = placement_over(conditions);
  slice.foreign_cpu_fraction = conditions.foreign_cpu_fraction;
  slice.steal_fraction = conditions.steal_fraction;
  slice.frequency_hertz = conditions.frequency_hertz;
  slice.mean_frequency_hertz = conditions.mean_frequency_hertz;
  slice.joules = conditions.joules;
  slice.device_temperature_celsius = conditions.device_temperature_celsius;
  slice.device_throttle_reasons.reset();
  if (conditions.device_throttling)
    slice.device_throttle_reasons = names_of(*conditions.device_throttling);
  slice.device_other_processes = conditions.device_other_processes;
  slice.device_foreign_fraction = conditions.device_foreign_fraction;
  slice.device_joules = conditions.device_joules;
  slice.clean.reset();
  if (conditions.cores_disturbed) slice.clean = false;
  judge(slice, conditions.device_unwatched);
}

void take_load(SliceRecord& slice, const LoadShares& load, bool device_unwatched) {
  slice.foreign_cpu_fraction = load.foreign_fraction;
  slice.steal_fraction = load.steal_fraction;
  judge(slice, device_unwatched);
}

bool is_throttled(const SliceRecord& slice) {
  if (!slice.device_throttle_reasons) return false;
  return std::ranges::any_of(*slice.device_throttle_reasons, [](const std::string& name) {
    const auto reason = throttle_reason_named(name);
    return reason && slows_down(*reason);
  });
}

bool is_shared(const SliceRecord& slice) {
  return slice.device_foreign_fraction > kCleanForeignFraction;  // not where it is not known
}

void note_times(const std::optional<CpuTimes>& begin, const std::optional<CpuTimes>& end,
                SliceConditions& conditions) {
  if (begin && end) conditions.cpu_times = time_between(*begin, *end);
  if (!conditions.cpu_times) return;
  const std::optional<LoadShares> load = load_of(*conditions.cpu_times);
  if (!load) return;
  conditions.foreign_cpu_fraction = load->foreign_fraction;
  conditions.steal_fraction = load->steal_fraction;
}

}  // namespace ptbench
