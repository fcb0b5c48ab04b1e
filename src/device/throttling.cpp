#include "src/device/throttling.h"

#include <algorithm>
#include <array>

#include "src/base/error.h"

namespace ptbench {
namespace {

struct ReasonRow {
  ThrottleReason reason;
  std::string_view name;
  bool slows_down;
};

constexpr auto kReasons = std::to_array<ReasonRow>({
    // Nothing ran, as at both ends of a slice: says nothing of the time between.
    {ThrottleReason::gpu_idle, "gpu_idle", false},
    // Somebody fixed the clocks (nvidia-smi -ac, -lgc): they are steady, which is what measuring
    // wants.
    {ThrottleReason::applications_clocks_setting, "applications_clocks_setting", false},
    // The driver lowers clocks to stay below the power limit. How far depends on temperature, on
    // the specimen and on the numbers that are multiplied, and changes while a run lasts.
    {ThrottleReason::sw_power_cap, "sw_power_cap", true},
    // The hardware divides its clocks by 2 or more: for heat, power, or a signal from outside.
    {ThrottleReason::hw_slowdown, "hw_slowdown", true},
    // The devices of a group keep to one clock, as somebody asked for.
    {ThrottleReason::sync_boost, "sync_boost", false},
    {ThrottleReason::sw_thermal_slowdown, "sw_thermal_slowdown", true},
    {ThrottleReason::hw_thermal_slowdown, "hw_thermal_slowdown", true},
    // The power supply asserts it.
    {ThrottleReason::hw_power_brake_slowdown, "hw_power_brake_slowdown", true},
    // What a display asks for, as steady as a setting.
    {ThrottleReason::display_clock_setting, "display_clock_setting", false},
});

const ReasonRow& row_of(ThrottleReason reason) {
  const auto* const row = std::ranges::find(kReasons, reason, &ReasonRow::reason);
  if (row == kReasons.end()) throw Defect("a throttle reason without a row");
  return *row;
}

}  // namespace

std::string_view name_of(ThrottleReason reason) { return row_of(reason).name; }

std::vector<std::string> names_of(ThrottleReasons reasons) {
  std::vector<std::string> names;
  for (const ReasonRow& row : kReasons)
    if (reasons.has(row.reason)) names.emplace_back(row.name);
  return names;
}

std::optional<ThrottleReason> throttle_reason_named(std::string_view name) {
  const auto* const row = std::ranges::find(kReasons, name, &ReasonRow::name);
  return row == kReasons.end() ? std::nullopt : std::optional(row->reason);
}

bool slows_down(ThrottleReason reason) { return row_of(reason).slows_down; }

bool slows_down(ThrottleReasons reasons) {
  return std::ranges::any_of(kReasons, [reasons](const ReasonRow& row) {
    return row.slows_down && reasons.has(row.reason);
  });
}

}  // namespace ptbench
