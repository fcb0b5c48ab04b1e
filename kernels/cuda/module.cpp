// What the engine module libptbench_cuda.so exports; see src/device/module_loader.h.
#include <memory>
#include <string_view>
#include <utility>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/site_interface.h"
#include "src/device/cuda/check.h"
#include "src/device/cuda/gpu_activity.h"
#include "src/device/cuda/probe.h"
#include "src/device/cuda/runtime_compiler.h"

namespace ptbench::cuda {
namespace {

Site open(int index) {
  (void)open_runtime_compiler();  // before cuDNN and cuBLASLt look for it
  auto device = std::make_unique<CudaDevice>(index);
  auto backend = std::make_unique<CudaBackend>(*device);
  return {std::move(device), std::move(backend)};
}

void reach(int index, int peer) {
  int can_reach = 0;
  PTBENCH_CUDA(cudaDeviceCanAccessPeer(&can_reach, index, peer));
  if (can_reach == 0) return;
  PTBENCH_CUDA(cudaSetDevice(index));
  const cudaError_t result = cudaDeviceEnablePeerAccess(peer, 0);
  if (result == cudaErrorPeerAccessAlreadyEnabled)
    (void)cudaGetLastError();
  else
    PTBENCH_CUDA(result);
}

constexpr SiteInterface kSites{.open = open, .reach = reach, .computes = computes};

/// `interface` where `abi` is its version, the version itself where that is asked for.
const void* versioned(const void* interface, const unsigned& version, unsigned abi) {
  if (abi == 0) return &version;
  return abi == version ? interface : nullptr;
}

const void* find_interface(std::string_view name, unsigned abi) {
  if (name == kDeviceProbeInterface) return versioned(&cuda_device_probe(), kDeviceProbeAbi, abi);
  if (name == kActivityInterface) return versioned(&gpu_activity(), kActivityAbi, abi);
  if (name == kSiteInterface) return versioned(&kSites, kSiteAbi, abi);
  return nullptr;
}

}  // namespace
}  // namespace ptbench::cuda

extern "C" __attribute__((visibility("default"))) const void* ptbench_module_interface(
    const char* name, unsigned abi) {
  return ptbench::cuda::find_interface(name, abi);
}
