#include "src/device/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "src/device/device_probe.h"
#include "src/device/module_loader.h"

namespace ptbench {
namespace {

/// Text of a fixed array, whether or not somebody forgot to end it.
std::string text_of(std::span<const char> letters) {
  return {letters.begin(), std::ranges::find(letters, '\0')};
}

/// "13.0" for 13000; empty for 0.
std::string version_text(std::int32_t version) {
  if (version <= 0) return {};
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

bool has_bit(std::uint64_t set, std::size_t bit) { return (set >> bit & 1U) != 0; }

CudaState state_of(ModuleState state) {
  switch (state) {
    case ModuleState::absent: return CudaState::module_absent;
    case ModuleState::library_absent: return CudaState::library_absent;
    case ModuleState::abi_mismatch: return CudaState::abi_mismatch;
    case ModuleState::unusable:
    case ModuleState::loaded: break;
  }
  return CudaState::module_unusable;
}

CudaProbe without_module(const Module& module) {
  CudaProbe probe;
  ModuleFault fault = fault_of(
      module, "build ptbench where nvcc is found (CMake option PTBENCH_CUDA=ON) and install it",
      "CUDA's runtime, cuBLAS or cuDNN");
  probe.state = state_of(module.state);
  probe.detail = std::move(fault.detail);
  probe.remedy = std::move(fault.remedy);
  return probe;
}

void add_devices(CudaProbe& probe, const DeviceProbeReport& report) {
  const auto count =
      std::min(static_cast<std::size_t>(std::max(report.device_count, 0)), report.devices.size());
  for (std::size_t index = 0; index < count; ++index) {
    const ProbedDevice& device = report.devices.at(index);
    probe.devices.push_back({.id = fmt::format("cuda:{}", index),
                             .name = text_of(device.name),
                             .memory_bytes = device.memory_bytes,
                             .compute_capability = fmt::format("{}.{}", device.capability_major,
                                                               device.capability_minor)});
  }
}

void explain_report(CudaProbe& probe, const DeviceProbeReport& report) {
  switch (report.status) {
    case DeviceProbeStatus::ok:
      probe.state = CudaState::found;
      probe.detail =
          fmt::format("{} device{}", probe.devices.size(), probe.devices.size() == 1 ? "" : "s");
      return;
    case DeviceProbeStatus::driver_absent:
      probe.state = CudaState::driver_absent;
      probe.detail = "the CUDA driver (libcuda.so.1) is missing";
      probe.remedy =
          "install NVIDIA's driver; in a container, start it with the NVIDIA runtime "
          "(--gpus all)";
      return;
    case DeviceProbeStatus::driver_too_old:
      probe.state = CudaState::driver_too_old;
      probe.detail = fmt::format("the driver is for CUDA {}, the module uses CUDA {}",
                                 probe.driver_version, probe.runtime_version);
      probe.remedy = "install a newer driver, or build ptbench with an older CUDA toolkit";
      return;
    case DeviceProbeStatus::no_device:
      probe.state = CudaState::no_device;
      probe.detail = "the driver finds no CUDA device";
      probe.remedy = "check nvidia-smi and the variable CUDA_VISIBLE_DEVICES";
      return;
    case DeviceProbeStatus::failed: break;
  }
  probe.state = CudaState::failed;
  probe.detail = text_of(report.message);
  probe.remedy = "check nvidia-smi and the kernel's log";
}

std::string name_of(DeviceWatchStatus status) {
  switch (status) {
    case DeviceWatchStatus::ready: return "ready";
    case DeviceWatchStatus::library_absent: return "absent";
    case DeviceWatchStatus::failed: return "failed";
  }
  return "unknown";
}

}  // namespace

std::string name_of(CudaState state) {
  switch (state) {
    case CudaState::module_absent: return name_of(ModuleState::absent);
    case CudaState::library_absent: return name_of(ModuleState::library_absent);
    case CudaState::module_unusable: return name_of(ModuleState::unusable);
    case CudaState::abi_mismatch: return name_of(ModuleState::abi_mismatch);
    case CudaState::driver_absent: return "driver absent";
    case CudaState::driver_too_old: return "driver too old";
    case CudaState::no_device: return "no device";
    case CudaState::failed: return "failed";
    case CudaState::found: return "ready";
  }
  return "unknown";
}

CudaProbe probe_cuda(const std::filesystem::path& module_folder) {
  const Module module = load_module(module_folder, "cuda", kDeviceProbeInterface, kDeviceProbeAbi);
  if (!module.loaded()) return without_module(module);
  const auto report = std::make_unique<DeviceProbeReport>();  // 18 KB: too much for some stacks
  static_cast<const DeviceProbe*>(module.interface)->probe(report.get());
  CudaProbe probe;
  probe.driver_version = version_text(report->driver_version);
  probe.runtime_version = version_text(report->runtime_version);
  if (report->status == DeviceProbeStatus::ok) add_devices(probe, *report);
  explain_report(probe, *report);
  return probe;
}

std::vector<CudaPlace> find_cuda_places(const std::filesystem::path& module_folder,
                                        const CudaProbe& probe) {
  std::vector<CudaPlace> places(probe.devices.size());
  const Module module = load_module(module_folder, "cuda", kDeviceProbeInterface, kDeviceProbeAbi);
  if (!module.loaded() || places.empty()) return places;
  DevicePlaces found{};
  static_cast<const DeviceProbe*>(module.interface)
      ->find_places(static_cast<std::int32_t>(places.size()), &found);
  for (std::size_t index = 0; index < places.size(); ++index) {
    const ProbedPlace& place = found.devices.at(index);
    places[index].pci_bus_id = text_of(place.pci_bus_id);
    for (std::size_t peer = 0; peer < places.size(); ++peer)
      if (has_bit(place.peers, peer))
        places[index].peers.push_back(
            {.id = probe.devices[peer].id, .atomics = has_bit(place.peers_with_atomics, peer)});
  }
  return places;
}

CudaWatch watch_cuda(const std::filesystem::path& module_folder) {
  const Module module = load_module(module_folder, "cuda", kDeviceProbeInterface, kDeviceProbeAbi);
  if (!module.loaded()) {
    const CudaProbe probe = without_module(module);
    return {.state = "failed", .detail = probe.detail, .remedy = probe.remedy};
  }
  const auto report = std::make_unique<DeviceWatchReport>();
  static_cast<const DeviceProbe*>(module.interface)->watch(report.get());
  return {.state = name_of(report->status),
          .driver_version = text_of(report->driver_version),
          .detail = text_of(report->detail),
          .remedy = text_of(report->remedy)};
}

CudaCompiler find_cuda_compiler(const std::filesystem::path& module_folder) {
  const Module module = load_module(module_folder, "cuda", kDeviceProbeInterface, kDeviceProbeAbi);
  if (!module.loaded()) {
    const CudaProbe probe = without_module(module);
    return {.state = "failed", .detail = probe.detail, .remedy = probe.remedy};
  }
  CompilerReport report{};
  static_cast<const DeviceProbe*>(module.interface)->find_compiler(&report);
  CudaCompiler compiler{.state = "ready",
                        .version = text_of(report.version),
                        .detail = text_of(report.reason),
                        .remedy = text_of(report.remedy)};
  if (!compiler.detail.empty()) compiler.state = compiler.version.empty() ? "absent" : "failed";
  return compiler;
}

Error cuda_absent_error(const std::string& device, const CudaProbe& probe) {
  return capability_error(fmt::format("--device {}: {}", device, probe.detail), probe.remedy);
}

}  // namespace ptbench
