#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptbench {

/// Why the clocks of a device are lower than they could be, as its driver tells: the "clocks event
/// reasons" of NVIDIA's management library (NVML API Reference Guide), by the names that nvidia-smi
/// gives them. The values are a set's bits.
enum class ThrottleReason : std::uint32_t {
  gpu_idle = 0x1,
  applications_clocks_setting = 0x2,
  sw_power_cap = 0x4,
  hw_slowdown = 0x8,
  sync_boost = 0x10,
  sw_thermal_slowdown = 0x20,
  hw_thermal_slowdown = 0x40,
  hw_power_brake_slowdown = 0x80,
  display_clock_setting = 0x100,
};

/// Some of them. Plain data, so that processes can send it.
struct ThrottleReasons {
  std::uint32_t bits = 0;

  [[nodiscard]] bool has(ThrottleReason reason) const {
    return (bits & static_cast<std::uint32_t>(reason)) != 0;
  }
  void add(ThrottleReason reason) { bits |= static_cast<std::uint32_t>(reason); }
  void add(ThrottleReasons others) { bits |= others.bits; }
};

/// "sw_power_cap", …
[[nodiscard]] std::string_view name_of(ThrottleReason reason);
/// The names of all of them, as records have them; of an unknown bit none.
[[nodiscard]] std::vector<std::string> names_of(ThrottleReasons reasons);
/// Empty for a name that no reason has.
[[nodiscard]] std::optional<ThrottleReason> throttle_reason_named(std::string_view name);

/// Whether a device that tells this reason was slower than its settings let it be, by power or
/// heat, so that what was timed is not what it would be at another time.
[[nodiscard]] bool slows_down(ThrottleReason reason);
[[nodiscard]] bool slows_down(ThrottleReasons reasons);

}  // namespace ptbench
