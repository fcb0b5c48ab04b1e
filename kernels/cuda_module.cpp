#include "kernels/cuda_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/site_interface.h"
#include "src/base/error.h"
#include "src/base/number.h"
#include "src/device/module_loader.h"

namespace ptbench {
namespace {

/// The number behind the colon; 0 where there is none.
int index_of(const std::string& device) {
  const std::size_t colon = device.find(':');
  if (colon == std::string::npos) return 0;
  const std::string_view text = std::string_view(device).substr(colon + 1);
  const auto index = parse_whole(text);
  constexpr std::uint64_t kMost = 1U << 16U;
  if (index) return static_cast<int>(std::min(*index, kMost));  // none has so many
  throw usage_error(fmt::format("--device {}: one replica trains on one device", device),
                    "name one, for example cuda:0");
}

std::string list_of(const std::vector<CudaDeviceInfo>& devices) {
  std::string text;
  for (const CudaDeviceInfo& device : devices)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", device.id);
  return text;
}

}  // namespace

CudaModule::CudaModule(const std::string& device, const std::filesystem::path& modules)
    : index_(index_of(device)) {
  CudaProbe probe = probe_cuda(modules);
  if (probe.state != CudaState::found) throw cuda_absent_error(device, probe);
  const auto index = static_cast<std::size_t>(index_);
  if (index >= probe.devices.size())
    throw capability_error(fmt::format("--device {}: there is no such device, only {}", device,
                                       list_of(probe.devices)),
                           "name one of these, or check the variable CUDA_VISIBLE_DEVICES");
  device_ = probe.devices[index];
  devices_ = std::move(probe.devices);
  const Module module = load_module(modules, "cuda", kSiteInterface, kSiteAbi);
  if (!module.loaded())
    throw capability_error(
        fmt::format("--device {}: {}: {}", device, module.path.string(), module.detail),
        "install the module that was built together with this ptbench");
  interface_ = static_cast<const SiteInterface*>(module.interface);
}

Site CudaModule::open() const { return interface_->open(index_); }

void CudaModule::reach(const std::string& peer) const {
  if (const int other = index_of(peer); other != index_) interface_->reach(index_, other);
}

bool CudaModule::computes(const OperatorSpec& spec) const { return interface_->computes(spec); }

}  // namespace ptbench
