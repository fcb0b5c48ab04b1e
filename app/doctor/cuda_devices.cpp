#include "app/doctor/cuda_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "app/config/precision.h"
#include "app/doctor/device_speed.h"
#include "kernels/cuda_module.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

Finding examine_bus(const CudaPlace& place) {
  constexpr const char* kName = "pci_bus_id";
  if (place.pci_bus_id.empty()) return note(kName, FieldValue(), "CUDA does not say");
  return note(kName, place.pci_bus_id, place.pci_bus_id);
}

/// The host's NUMA node that the device is next to, as the kernel has it: -1 where it has none.
Finding examine_numa_node(const CudaPlace& place) {
  constexpr const char* kName = "numa_node";
  const std::string device = in_lower_case(place.pci_bus_id);  // as the kernel writes it
  std::ifstream file(std::filesystem::path("/sys/bus/pci/devices") / device / "numa_node");
  Size node = -1;
  if (!(file >> node) || node < 0) return note(kName, FieldValue(), "the kernel does not say");
  return note(kName, node, fmt::format("{} of the host", node));
}

Finding examine_peers(const CudaPlace& place) {
  std::string ids;
  std::string detail;
  for (const CudaPeer& peer : place.peers) {
    ids += (ids.empty() ? "" : " ") + peer.id;
    detail += fmt::format("{}{}{}", detail.empty() ? "" : ", ", peer.id,
                          peer.atomics ? " (with atomics, as NVLink has them)" : "");
  }
  if (ids.empty()) return note("peers", FieldValue(), "no other device's memory is in reach");
  return note("peers", ids, detail);
}

/// Copies to another device, straight where the machine can.
Finding examine_link(const InstallPaths& paths, const CudaModule& own, const Site& site,
                     const CudaPlace& place, const std::string& other) {
  own.reach(other);
  const Site peer = CudaModule(other, paths.modules).open();
  const bool straight = std::ranges::find(place.peers, other, &CudaPeer::id) != place.peers.end();
  return examine_copies_between(site, peer,
                                straight ? "straight to its memory" : "by way of the host");
}

/// To each other device.
void add_links(const InstallPaths& paths, const CudaModule& own, const Site& site,
               const CudaPlace& place, std::vector<Finding>& findings) {
  for (const CudaDeviceInfo& other : own.devices()) {
    if (other.id == own.device().id) continue;
    try {
      findings.push_back(examine_link(paths, own, site, place, other.id));
    } catch (const Error& error) {
      findings.push_back({fmt::format("copy_to_{}_bytes_per_second", other.id), "failed",
                          FieldValue(), error.what(), error.remedy()});
    }
  }
}

FindingGroup examine_cuda_device(const InstallPaths& paths, const CudaDeviceInfo& device,
                                 const CudaPlace& place) {
  FindingGroup group{device.id,
                     {examine_bus(place), examine_numa_node(place), examine_peers(place)}};
  std::vector<std::string> precisions;
  for (const char* precision : {"fp32", "tf32", "bf16", "fp16"})
    if (multiplies(device.compute_capability, precision))
      precisions.emplace_back(precision);
    else
      group.findings.push_back(note(fmt::format("{}_product_flops_per_second", precision),
                                    FieldValue(), "from compute capability 8.0 on"));
  try {
    const CudaModule module(device.id, paths.modules);
    const Site site = module.open();
    for (Finding& finding : examine_speed(site, precisions))
      group.findings.push_back(std::move(finding));
    add_links(paths, module, site, place, group.findings);
  } catch (const Error& error) {
    group.findings.push_back({"speed", "failed", FieldValue(), error.what(), error.remedy()});
  }
  return group;
}

/// What watches CUDA devices while they train.
Finding examine_nvml(const InstallPaths& paths) {
  CudaTelemetry watch = watch_cuda(paths.modules);
  if (!watch.driver_version.empty())
    watch.detail = fmt::format("driver {}; {}", watch.driver_version, watch.detail);
  const FieldValue version =
      watch.driver_version.empty() ? FieldValue() : FieldValue(watch.driver_version);
  return {"nvml", std::move(watch.state), version, std::move(watch.detail),
          std::move(watch.remedy)};
}

/// What cuDNN compiles kernels with.
Finding examine_nvrtc(const InstallPaths& paths) {
  constexpr const char* kUse = "cuDNN compiles convolutions in bf16 and fp16 with it";
  CudaCompiler compiler = find_cuda_compiler(paths.modules);
  const FieldValue version = compiler.version.empty() ? FieldValue() : FieldValue(compiler.version);
  return {"nvrtc", std::move(compiler.state), version,
          fmt::format("{}; {}", compiler.detail.empty() ? compiler.version : compiler.detail, kUse),
          std::move(compiler.remedy)};
}

}  // namespace

std::vector<Finding> examine_cuda_libraries(const InstallPaths& paths, const CudaProbe& cuda) {
  std::vector<Finding> findings;
  if (!cuda.runtime_version.empty()) {
    findings.push_back(note("cuda_runtime", cuda.runtime_version, cuda.runtime_version));
    findings.push_back(examine_nvrtc(paths));
  }
  if (!cuda.driver_version.empty())
    findings.push_back(
        note("cuda_driver", cuda.driver_version, "for CUDA up to " + cuda.driver_version));
  if (!cuda.devices.empty()) findings.push_back(examine_nvml(paths));
  return findings;
}

std::vector<FindingGroup> examine_cuda_devices(const InstallPaths& paths, const CudaProbe& cuda) {
  const std::vector<CudaPlace> places = find_cuda_places(paths.modules, cuda);
  std::vector<FindingGroup> groups;
  for (std::size_t index = 0; index < cuda.devices.size(); ++index)
    groups.push_back(examine_cuda_device(paths, cuda.devices[index], places.at(index)));
  return groups;
}

}  // namespace ptbench
