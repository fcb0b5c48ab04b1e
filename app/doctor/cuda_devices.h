#pragma once

#include <vector>

#include "app/doctor/doctor.h"
#include "src/base/install_paths.h"
#include "src/device/probe.h"

namespace ptbench {

/// CUDA's own libraries, as far as the module in `paths` knows them; none where there is no module.
[[nodiscard]] std::vector<Finding> examine_cuda_libraries(const InstallPaths& paths,
                                                          const CudaProbe& cuda);

/// A group for each device that `cuda` has found through the module in `paths`, under its id: where
/// it is plugged in, which others it reaches, and what it was measured to reach now. A second or
/// two a device.
[[nodiscard]] std::vector<FindingGroup> examine_cuda_devices(const InstallPaths& paths,
                                                             const CudaProbe& cuda);

}  // namespace ptbench
