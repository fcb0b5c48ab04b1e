#pragma once

#include <array>
#include <cstdint>

namespace ptbench {

/// Interface "device_probe" of engine modules: which devices there are. Plain data without
/// allocations, so that executable and module may be built by different compilers. Raise
/// kDeviceProbeAbi with every change of a structure here.
inline constexpr const char* kDeviceProbeInterface = "device_probe";
inline constexpr unsigned kDeviceProbeAbi = 3;

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

/// Where a device is plugged in, and which others it reaches. Bit i of a set stands for the device
/// of that index.
struct ProbedPlace {
  std::array<char, 32> pci_bus_id;   ///< "0000:3B:00.0"; ends with a null character
  std::uint64_t peers;               ///< whose memory its kernels may read and write
  std::uint64_t peers_with_atomics;  ///< of these, over a link with atomics, as NVLink has them
};

/// One for each device of the report, with equal indices; empty where CUDA does not tell.
struct DevicePlaces {
  std::array<ProbedPlace, 64> devices;
};

enum class DeviceWatchStatus : std::int32_t {
  ready = 0,
  library_absent = 1,
  failed = 2,  ///< the library is there, and cannot be asked
};

/// What the driver's management library tells of the devices, for people. Texts end with a null
/// character.
struct DeviceWatchReport {
  DeviceWatchStatus status;
  std::array<char, 96> driver_version;  ///< empty: not known
  std::array<char, 8192> detail;        ///< of each device what it does, or what is missing
  std::array<char, 512> remedy;         ///< empty where nothing is
};

/// Whether NVIDIA's libraries can compile kernels at run time. Texts end with a null character.
struct CompilerReport {
  std::array<char, 32> version;  ///< "13.0"; empty: the compiler cannot be opened
  std::array<char, 512> reason;  ///< why nothing can be compiled; empty where it can
  std::array<char, 512> remedy;  ///< empty where nothing is missing
};

/// What the interface's pointer points to. Functions fill a structure, which the caller
/// provides zeroed; they do not throw and leave no device in use.
struct DeviceProbe {
  void (*probe)(DeviceProbeReport* report) noexcept;
  /// Where `probe` found devices.
  void (*watch)(DeviceWatchReport* report) noexcept;
  /// `device_count`: as the report has it.
  void (*find_places)(std::int32_t device_count, DevicePlaces* places) noexcept;
  /// Leaves the compiler open for the rest of the process. Needs no device.
  void (*find_compiler)(CompilerReport* report) noexcept;
};

}  // namespace ptbench
