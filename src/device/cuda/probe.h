#pragma once

#include "src/device/device_probe.h"

namespace ptbench {

/// What the CUDA module gives for the interface "device_probe".
[[nodiscard]] const DeviceProbe& cuda_device_probe();

}  // namespace ptbench
