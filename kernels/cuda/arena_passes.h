#pragma once

#include <memory>
#include <span>

#include "kernels/arena_passes.h"
#include "src/device/cuda/cuda_device.h"

namespace ptbench::cuda {

/// Passes over an arena in the device's memory, in its queue for computing. The device outlives
/// them.
[[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(std::span<float> arena,
                                                             CudaDevice& device);

}  // namespace ptbench::cuda
