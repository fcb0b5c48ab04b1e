#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/device/device.h"

namespace ptbench::testing {

/// A kind of device that keeps to the contract of devices.
struct DeviceFactory {
  std::string name;
  /// Calls `check` with a device of this kind, on the thread that made it.
  std::function<void(const std::function<void(Device&)>& check)> with_device;
};

/// Every device that there is, the deferred one in each of its orders; where tested_device() names
/// one, that alone.
[[nodiscard]] std::vector<DeviceFactory> device_factories();

}  // namespace ptbench::testing
