#pragma once

#include "src/device/probe.h"
#include "tests/support/skip.h"

namespace ptbench::testing {

/// Skips the test where there is no CUDA device, real or emulated.
inline void require_cuda_device() {
  const CudaProbe probe = probe_cuda(PTBENCH_BUILT_MODULES);
  if (probe.state != CudaState::found) skip("there is no CUDA device: " + probe.detail);
}

}  // namespace ptbench::testing
