#pragma once

#include <exception>
#include <functional>
#include <string>

#include "src/base/error.h"
#include "src/comm/nccl_module.h"
#include "tests/comm/gpu_ranks.h"
#include "tests/cuda/device.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/ranks.h"
#include "tests/strategies/training.h"
#include "tests/support/tested_device.h"

// Trainings in the tests' own process, on CUDA devices.
namespace ptbench::testing {

/// `spec`, with the replica beside the first one on the device cuda:1.
[[nodiscard]] inline TrainingSpec with_second_device(TrainingSpec spec) {
  spec.device = "cuda:1";
  spec.sites = {{.device = "cuda",
                 .open = [](const SiteChoice& choice) { return open_cuda_site(choice.device); }}};
  return spec;
}

/// Skips the test where two ranks cannot train, each on a GPU of its own.
inline void require_gpus_of_two_ranks() {
  require_cuda_devices(2);
  const NcclProbe probe = probe_nccl(PTBENCH_BUILT_MODULES);
  if (!probe.usable) skip("there is no NCCL: " + probe.detail);
}

/// Calls `body` on two ranks' threads, and throws what one of them threw. No assertions of Catch2
/// in `body`: they are for one thread.
inline void on_gpus_of_two_ranks(GpuRanks& gpus, const std::function<void(GpuRank)>& body) {
  for (const std::exception_ptr& failure : gpus.failures_on_devices(2, body))
    if (failure) std::rethrow_exception(failure);
}

/// Has steps recorded where `records` says so; dp never does.
inline void record_if(Strategy& strategy, bool records) {
  if (records) ensure(strategy.record_steps(), "a CUDA device records steps");
}

}  // namespace ptbench::testing
