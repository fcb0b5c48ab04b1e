#include "src/device/cuda/probe.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/units.h"
#include "src/device/cuda/gpu_telemetry.h"
#include "src/device/cuda/runtime_compiler.h"
#include "src/device/device_probe.h"
#include "src/device/throttling.h"

namespace ptbench {
namespace {

void set_failed(DeviceProbeReport& report, const char* call, cudaError_t error) {
  report.status = DeviceProbeStatus::failed;
  std::snprintf(report.message.data(), report.message.size(), "%s: %s (%s)", call,
                cudaGetErrorString(error), cudaGetErrorName(error));
  (void)cudaGetLastError();  // clears what is not sticky
}

/// False when the device could not be asked; the report then says why.
bool describe(int index, DeviceProbeReport& report) {
  ProbedDevice& device = report.devices[static_cast<std::size_t>(index)];
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index); error != cudaSuccess) {
    set_failed(report, "cudaGetDeviceProperties", error);
    return false;
  }
  std::snprintf(device.name.data(), device.name.size(), "%s", properties.name);
  device.memory_bytes = properties.totalGlobalMem;
  struct Query {
    cudaDeviceAttr attribute;
    std::int32_t* value;
  };
  const Query queries[] = {{cudaDevAttrComputeCapabilityMajor, &device.capability_major},
                           {cudaDevAttrComputeCapabilityMinor, &device.capability_minor}};
  for (const Query& query : queries)
    if (const cudaError_t error = cudaDeviceGetAttribute(query.value, query.attribute, index);
        error != cudaSuccess) {
      set_failed(report, "cudaDeviceGetAttribute", error);
      return false;
    }
  return true;
}

/// Without a driver and with one that is too old, the runtime reports the same error; only the
/// driver's version, which is 0 without a driver, tells them apart.
void explain(cudaError_t error, DeviceProbeReport& report) {
  if (error == cudaErrorInsufficientDriver)
    report.status = report.driver_version == 0 ? DeviceProbeStatus::driver_absent
                                               : DeviceProbeStatus::driver_too_old;
  else if (error == cudaErrorNoDevice)
    report.status = DeviceProbeStatus::no_device;
  else
    set_failed(report, "cudaGetDeviceCount", error);
}

void probe(DeviceProbeReport* report) noexcept {
  int count = 0;
  (void)cudaRuntimeGetVersion(&report->runtime_version);
  (void)cudaDriverGetVersion(&report->driver_version);
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    explain(error, *report);
    return;
  }
  if (count == 0) {
    report->status = DeviceProbeStatus::no_device;
    return;
  }
  count = std::min(count, static_cast<int>(report->devices.size()));
  for (int index = 0; index < count; ++index)
    if (!describe(index, *report)) return;
  report->device_count = count;
  report->status = DeviceProbeStatus::ok;
}

/// Adds what `device` reaches of `peer`.
void find_link(int device, int peer, ProbedPlace& place) {
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(peer);
  int reaches = 0;
  if (cudaDeviceCanAccessPeer(&reaches, device, peer) != cudaSuccess || reaches == 0) return;
  place.peers |= bit;
  int atomics = 0;
  if (cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, device, peer) ==
          cudaSuccess &&
      atomics != 0)
    place.peers_with_atomics |= bit;
}

void find_places(std::int32_t device_count, DevicePlaces* places) noexcept {
  for (int device = 0; device < device_count; ++device) {
    ProbedPlace& place = places->devices[static_cast<std::size_t>(device)];
    if (cudaDeviceGetPCIBusId(place.pci_bus_id.data(), static_cast<int>(place.pci_bus_id.size()),
                              device) != cudaSuccess)
      place.pci_bus_id = {};
    for (int peer = 0; peer < device_count; ++peer)
      if (peer != device) find_link(device, peer, place);
  }
  (void)cudaGetLastError();  // what CUDA does not tell is no error of a later call
}

template <std::size_t Size>
void write(std::array<char, Size>& letters, std::string_view text) {
  text.copy(letters.data(), letters.size() - 1);
}

/// "1.98 GHz, 45 °C, not throttled", and what is not told.
std::string text_of(GpuTelemetry& watch) {
  const AcceleratorConditions now = watch.look();
  std::vector<std::string> parts;
  if (const auto clock = watch.clock_hertz()) parts.push_back(format_si(*clock) + "Hz");
  if (now.temperature_celsius) parts.push_back(fmt::format("{:g} °C", *now.temperature_celsius));
  if (now.throttling) {
    const std::vector<std::string> reasons = names_of(*now.throttling);
    parts.emplace_back(slows_down(*now.throttling) ? "throttled" : "not throttled");
    if (!reasons.empty()) parts.back() += fmt::format(" ({})", fmt::join(reasons, ", "));
  }
  for (const std::string& missing : watch.missing()) parts.push_back("not known: " + missing);
  return fmt::format("{}", fmt::join(parts, ", "));
}

void watch_devices(DeviceWatchReport& report) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) (void)cudaGetLastError();
  std::vector<std::string> devices;
  for (int index = 0; index < count; ++index) {
    GpuTelemetry device(index);
    write(report.driver_version, device.library().driver_version());
    std::string text = text_of(device);
    if (const auto& gap = device.throttling_gap()) {
      report.status =
          device.library().found() ? DeviceWatchStatus::failed : DeviceWatchStatus::library_absent;
      write(report.remedy, gap->remedy);
      if (text.empty()) text = gap->reason;
    }
    devices.push_back(fmt::format("cuda:{}: {}", index, text));
  }
  write(report.detail, fmt::format("{}", fmt::join(devices, "; ")));
}

void watch(DeviceWatchReport* report) noexcept {
  try {
    watch_devices(*report);
  } catch (const std::exception& error) {
    report->status = DeviceWatchStatus::failed;
    write(report->detail, error.what());
  }
}

void find_compiler(CompilerReport* report) noexcept {
  try {
    const RuntimeCompiler compiler = open_runtime_compiler();
    write(report->version, compiler.version);
    write(report->reason, compiler.reason);
    write(report->remedy, compiler.remedy);
  } catch (const std::exception& error) {
    write(report->reason, error.what());
  }
}

constexpr DeviceProbe kProbe{
    .probe = probe, .watch = watch, .find_places = find_places, .find_compiler = find_compiler};

}  // namespace

const DeviceProbe& cuda_device_probe() { return kProbe; }

}  // namespace ptbench
