#pragma once

#include <cstddef>

#include "src/device/emulated.h"
#include "src/device/probe.h"
#include "tests/support/skip.h"

namespace ptbench::testing {

/// Skips the test where there is no CUDA device, real or emulated.
inline void require_cuda_device() {
  const CudaProbe probe = probe_cuda(PTBENCH_BUILT_MODULES);
  if (probe.state != CudaState::found) skip("there is no CUDA device: " + probe.detail);
}

/// Skips the test where there are fewer of them.
inline void require_cuda_devices(std::size_t count) {
  require_cuda_device();
  if (probe_cuda(PTBENCH_BUILT_MODULES).devices.size() < count) skip("there are too few GPUs");
}

/// Whether the devices are emulated; there is one.
inline bool has_emulated_devices() {
  return is_emulated(probe_cuda(PTBENCH_BUILT_MODULES).devices.front().name);
}

/// Skips the test where there is no emulated CUDA device: real ones do not do what is asked.
inline void require_emulated_device() {
  require_cuda_device();
  if (!has_emulated_devices()) skip("this device is a real one");
}

}  // namespace ptbench::testing
