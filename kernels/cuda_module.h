#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/site.h"
#include "kernels/spec.h"
#include "src/base/install_paths.h"
#include "src/device/probe.h"

namespace ptbench {

struct SiteInterface;

/// The CUDA engine, as a user asked for it by --device: its module, and one device. Opening it
/// loads CUDA's libraries, which a run on the CPU never does.
class CudaModule {
 public:
  /// `device`: "cuda", which is cuda:0, or "cuda:I". `modules`: the folder of the module. Throws a
  /// capability error that says what is missing (module, library, driver, device) or which devices
  /// there are, and a usage error for several devices, as one replica trains on one.
  explicit CudaModule(const std::string& device,
                      const std::filesystem::path& modules = install_paths().modules);

  [[nodiscard]] Site open() const;
  /// Lets copies of this device go straight to and from the memory of `peer` ("cuda:1"), where the
  /// machine can.
  void reach(const std::string& peer) const;
  /// Whether this engine computes `spec`.
  [[nodiscard]] bool computes(const OperatorSpec& spec) const;
  [[nodiscard]] const CudaDeviceInfo& device() const { return device_; }
  /// All that there are.
  [[nodiscard]] const std::vector<CudaDeviceInfo>& devices() const { return devices_; }

 private:
  const SiteInterface* interface_ = nullptr;
  int index_ = 0;
  std::vector<CudaDeviceInfo> devices_;
  CudaDeviceInfo device_;
};

}  // namespace ptbench
