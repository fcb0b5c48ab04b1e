#include "src/device/host_device.h"

#include "src/device/cpu_load.h"
#include "src/device/frequency.h"

namespace ptbench {

DeviceConditions HostDevice::look() {
  return {.frequency_hertz = effective_frequency(), .cpu_seconds = process_cpu_seconds()};
}

}  // namespace ptbench
