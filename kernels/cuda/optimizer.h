#pragma once

#include <memory>

#include "kernels/optimizer.h"
#include "src/device/cuda/cuda_device.h"

namespace ptbench::cuda {

/// One kernel a slice, over arenas in the device's memory; the device outlives it. Who owns which
/// part does not matter here: all threads of the device share every slice.
[[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(const OptimizerSpec& spec,
                                                        const OptimizerArenas& arenas,
                                                        CudaDevice& device);

}  // namespace ptbench::cuda
