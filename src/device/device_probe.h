#pragma once

#include <array>
#include <cstdint>

namespace ptbench {

/// Interface "device_probe" of engine modules: which devices there are. Plain data without
/// allocations, so that executable and module may be built by different compilers. Raise
/// kDeviceProbeAbi with every change of a structure here.
inline constexpr const char* kDeviceProbeInterface = "device_probe";
inline constexpr unsigned kDeviceProbeAbi = 1;

enum class DeviceProbeStatus : std::int32_t {
  ok = 0,
  driver_absent = 1,
  driver_too_old = 2,  ///< for the runtime library that the module uses
  no_device = 3,
  failed = 4,  ///< `message` says how
};

struct ProbedDevice {
  std::array<char, 256> name;  ///< ends with a null character
  std::uint64_t memory_bytes;
  std::int32_t capability_major;
  std::int32_t capability_minor;
};

struct DeviceProbeReport {
  DeviceProbeStatus status;
  std::int32_t driver_version;   ///< 1000·major + 10·minor; 0: no driver
  std::int32_t runtime_version;  ///< the same
  std::int32_t device_count;     ///< that are filled in below
  std::array<ProbedDevice, 64> devices;
  std::array<char, 512> message;  ///< ends with a null character
};

/// What the interface's pointer points to.
struct DeviceProbe {
  /// Fills `report`, which the caller provides zeroed. Does not throw and leaves no device in use.
  void (*probe)(DeviceProbeReport* report) noexcept;
};

}  // namespace ptbench
