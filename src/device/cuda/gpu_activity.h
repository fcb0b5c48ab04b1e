#pragma once

#include "src/device/activity.h"

namespace ptbench {

/// What the CUDA module gives for the interface "activity": what all GPUs of this process do, by
/// NVIDIA's profiling library (CUPTI), kernels, copies, fills, and the calls of CUDA with the same
/// correlation. The library is opened when recording begins, and stays open until the process ends.
/// It reads the host's steady clock, so that all times are of that clock.
[[nodiscard]] const ActivityInterface& gpu_activity();

}  // namespace ptbench
