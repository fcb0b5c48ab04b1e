#include <cstring>
#include <string_view>

#include "src/device/device_probe.h"

namespace ptbench {
namespace {

constexpr unsigned kAbi = kDeviceProbeAbi + PTBENCH_FAKE_ABI_STEP;

template <std::size_t Count>
void write(std::array<char, Count>& letters, std::string_view text) {
  text.copy(letters.data(), letters.size() - 1);
}

void probe(DeviceProbeReport* report) noexcept {
  report->status = PTBENCH_FAKE_STATUS;
  report->runtime_version = 13000;
  report->driver_version = report->status == DeviceProbeStatus::driver_absent    ? 0
                           : report->status == DeviceProbeStatus::driver_too_old ? 12040
                                                                                 : 13010;
  write(report->message, "cudaGetDeviceCount: made up");
  if (report->status != DeviceProbeStatus::ok) return;
  report->device_count = 1;
  ProbedDevice& device = report->devices.front();
  write(device.name, "Fake GPU");
  device.memory_bytes = std::uint64_t{80} << 30U;
  device.capability_major = 9;
}

void find_places(std::int32_t device_count, DevicePlaces* places) noexcept {
  if (device_count < 1) return;
  write(places->devices.front().pci_bus_id, "ABCD:3B:00.0");  // which no host has
}

void watch(DeviceWatchReport* report) noexcept {
  write(report->driver_version, "580.0");
  write(report->detail, "cuda:0: made up");
}

/// It is there where devices are.
void find_compiler(CompilerReport* report) noexcept {
  const DeviceProbeStatus status = PTBENCH_FAKE_STATUS;
  if (status == DeviceProbeStatus::ok) {
    write(report->version, "13.0");
    return;
  }
  write(report->reason, "libmade-up.so.13: cannot be opened");
  write(report->remedy, "install made-up");
}

constexpr DeviceProbe kProbe{
    .probe = probe, .watch = watch, .find_places = find_places, .find_compiler = find_compiler};

}  // namespace
}  // namespace ptbench

extern "C" const void* ptbench_module_interface(const char* name, unsigned abi) {
  if (std::strcmp(name, ptbench::kDeviceProbeInterface) != 0) return nullptr;
  if (abi == 0) return &ptbench::kAbi;
  return abi == ptbench::kAbi ? &ptbench::kProbe : nullptr;
}
