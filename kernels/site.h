#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "src/device/device.h"
#include "src/device/topology.h"

namespace ptbench {

/// A device with the backend of its operators: where one replica trains. For the thread that opened
/// it, which closes it too. Several may be open in one process.
struct Site {
  Site() = default;
  Site(std::unique_ptr<Device> opened, std::unique_ptr<KernelBackend> of_device)
      : device(std::move(opened)), backend(std::move(of_device)) {}
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;
  Site(Site&&) = default;
  Site& operator=(Site&& other) noexcept {
    backend = nullptr;
    device = std::move(other.device);
    backend = std::move(other.backend);
    return *this;
  }
  ~Site() = default;

  std::unique_ptr<Device> device;
  std::unique_ptr<KernelBackend> backend;  ///< ends before its device does
};

/// Which site to open.
struct SiteChoice {
  std::string device = "cpu";  ///< as in --device, but for "auto"
  Topology topology;           ///< of the host
  int threads = 1;             ///< of a CPU device
  int first_core = 0;          ///< of `topology`, from which on a CPU device has its cores
  /// Devices whose memory copies of this one go to and come from, straight where the machine can.
  std::vector<std::string> peers;
};

/// A kind of device.
struct SiteRow {
  std::string device;  ///< its name in --device, before a colon
  std::function<Site(const SiteChoice& choice)> open;
};

/// All kinds of devices that this build has. To add one: a folder beside cpu/ and a row in
/// site.cpp.
[[nodiscard]] std::vector<SiteRow> site_catalog();

/// Throws a capability error for a device that `catalog` has not.
[[nodiscard]] Site open_site(const SiteChoice& choice,
                             const std::vector<SiteRow>& catalog = site_catalog());

}  // namespace ptbench
