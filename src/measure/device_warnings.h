#pragma once

#include <string>

#include "src/device/device.h"
#include "src/measure/record.h"

namespace ptbench {

/// Warns of slices in which devices that are no CPUs were throttled (device-throttled, with the
/// reasons and what helps against them) or used by other processes (device-shared), where they are
/// more than a few. Warnings with these codes that the run already has give way.
void add_device_warnings(RunRecord& run);

/// Warns that nobody knows whether the device of that id was throttled: device-not-watched.
void add_watch_warning(RunRecord& run, const std::string& device, const WatchGap& gap);

}  // namespace ptbench
