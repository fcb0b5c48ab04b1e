#include "src/measure/device_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "src/base/units.h"
#include "src/device/throttling.h"
#include "src/measure/slice_probe.h"

namespace ptbench {
namespace {

/// "3 of 20 slices".
std::string share_of(Size count, const std::vector<SliceRecord>& slices) {
  return fmt::format("{} of {} slice{}", count, slices.size(), slices.size() == 1 ? "" : "s");
}

/// How many slices tell each reason that slows a device down.
std::map<ThrottleReason, Size> slowing_reasons(const std::vector<SliceRecord>& slices) {
  std::map<ThrottleReason, Size> counts;
  for (const SliceRecord& slice : slices) {
    if (!slice.device_throttle_reasons) continue;
    for (const std::string& name : *slice.device_throttle_reasons)
      if (const auto reason = throttle_reason_named(name); reason && slows_down(*reason))
        ++counts[*reason];
  }
  return counts;
}

/// What helps against the reason that most slices tell.
std::string remedy_of_throttling(const std::map<ThrottleReason, Size>& counts) {
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  switch (most->first) {
    case ThrottleReason::sw_power_cap:
      return "Fix the clocks where the power limit lets them stay (as root: nvidia-smi -lgc), or "
             "raise the limit (nvidia-smi -pl).";
    case ThrottleReason::sw_thermal_slowdown:
    case ThrottleReason::hw_thermal_slowdown:
      return "Improve the cooling, or fix lower clocks (as root: nvidia-smi -lgc).";
    case ThrottleReason::hw_power_brake_slowdown:
      return "Check the power supply, which asks the GPU to slow down.";
    default: return "Check cooling and power supply: nvidia-smi -q -d PERFORMANCE says more.";
  }
}

bool is_rare(Size count, const std::vector<SliceRecord>& slices) {
  return static_cast<double>(count) <= kRareSlices * static_cast<double>(slices.size());
}

void warn_of_throttling(RunRecord& run) {
  const std::vector<SliceRecord>& slices = run.samples.slices;
  const Size throttled = std::ranges::count_if(slices, is_throttled);
  if (is_rare(throttled, slices)) return;
  const std::map<ThrottleReason, Size> counts = slowing_reasons(slices);
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : counts)
    reasons.push_back(slices.size() == 1 ? std::string(name_of(reason))
                                         : fmt::format("{} in {}", name_of(reason), count));
  run.warnings.push_back(
      {.code = "device-throttled",
       .message = fmt::format("the GPU was throttled in {} ({}): these are not clean",
                              share_of(throttled, slices), fmt::join(reasons, ", ")),
       .remedy = remedy_of_throttling(counts)});
}

void warn_of_sharing(RunRecord& run) {
  const std::vector<SliceRecord>& slices = run.samples.slices;
  const Size shared = std::ranges::count_if(slices, is_shared);
  if (is_rare(shared, slices)) return;
  const auto most = std::ranges::max_element(slices, {}, &SliceRecord::device_foreign_fraction);
  run.warnings.push_back(
      {.code = "device-shared",
       .message =
           fmt::format("another process used the GPU in {} of {} slices, up to {} of it", shared,
                       slices.size(), format_percent(most->device_foreign_fraction.value())),
       .remedy =
           "Close other programs on the GPU (nvidia-smi lists them), or use another device."});
}

}  // namespace

void add_device_warnings(RunRecord& run) {
  remove_warning(run, "device-throttled");
  remove_warning(run, "device-shared");
  warn_of_throttling(run);
  warn_of_sharing(run);
}

void add_watch_warning(RunRecord& run, const std::string& device, const WatchGap& gap) {
  run.warnings.push_back(
      {.code = "device-not-watched",
       .message = fmt::format("whether {} was throttled is not known: {}", device, gap.reason),
       .remedy = fmt::format("To find out, {}.", gap.remedy)});
}

}  // namespace ptbench
