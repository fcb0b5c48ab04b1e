// What devices say of themselves, and what they let each other do.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/device/settings.h"
#include "tests/cuda_emulator/runtime/call.h"
#include "tests/cuda_emulator/runtime/properties.h"

namespace ptbench::emulator {
namespace {

bool has_device(int device) { return device >= 0 && device < machine().devices(); }

/// Ten times what this device says its compute capability is.
int capability_of(int device) {
  const std::vector<int>& all = settings().capabilities;
  return all[std::min(static_cast<std::size_t>(device), all.size() - 1)];
}

const std::map<cudaDeviceAttr, int>& attributes() {
  static const std::map<cudaDeviceAttr, int> values{
      {cudaDevAttrMaxThreadsPerBlock, static_cast<int>(kMaxThreads)},
      {cudaDevAttrMaxBlockDimX, 1024},
      {cudaDevAttrMaxBlockDimY, 1024},
      {cudaDevAttrMaxBlockDimZ, 64},
      {cudaDevAttrMaxGridDimX, 0x7fffffff},
      {cudaDevAttrMaxGridDimY, 65535},
      {cudaDevAttrMaxGridDimZ, 65535},
      {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(kSharedPerBlock)},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<int>(kSharedPerSm)},
      {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
      {cudaDevAttrTotalConstantMemory, 65536},
      {cudaDevAttrWarpSize, static_cast<int>(kWarp)},
      {cudaDevAttrMaxRegistersPerBlock, 65536},
      {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
      {cudaDevAttrMultiProcessorCount, kSms},
      {cudaDevAttrL2CacheSize, 40 << 20},
      {cudaDevAttrClockRate, 1410000},
      {cudaDevAttrMemoryClockRate, 1215000},
      {cudaDevAttrGlobalMemoryBusWidth, 5120},
      {cudaDevAttrAsyncEngineCount, 3},
      {cudaDevAttrConcurrentKernels, 1},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrStreamPrioritiesSupported, 1},
      {cudaDevAttrCanMapHostMemory, 1},
      {cudaDevAttrMemoryPoolsSupported, 0},
      {cudaDevAttrManagedMemory, 0},
      {cudaDevAttrCooperativeLaunch, 0},
      {cudaDevAttrIntegrated, 0},
      {cudaDevAttrEccEnabled, 1},
      {cudaDevAttrComputeMode, 0},
      {cudaDevAttrKernelExecTimeout, 0},
      {cudaDevAttrPciBusId, 1},
      {cudaDevAttrPciDeviceId, 0},
      {cudaDevAttrPciDomainId, 0}};
  return values;
}

void fill(cudaDeviceProp& properties, int device) {
  properties = {};
  std::snprintf(properties.name, sizeof properties.name, "%s", kDeviceName);
  properties.totalGlobalMem = settings().memory_bytes;
  properties.major = capability_of(device) / 10;
  properties.minor = capability_of(device) % 10;
  properties.warpSize = static_cast<int>(kWarp);
  properties.multiProcessorCount = kSms;
  properties.maxThreadsPerBlock = static_cast<int>(kMaxThreads);
  properties.maxThreadsPerMultiProcessor = 2048;
  properties.maxBlocksPerMultiProcessor = 32;
  properties.sharedMemPerBlock = 48U << 10U;
  properties.sharedMemPerBlockOptin = kSharedPerBlock;
  properties.sharedMemPerMultiprocessor = kSharedPerSm;
  properties.reservedSharedMemPerBlock = 1024;
  properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
  properties.totalConstMem = 65536;
  properties.l2CacheSize = 40 << 20;
  properties.memoryBusWidth = 5120;
  properties.maxThreadsDim[0] = properties.maxThreadsDim[1] = 1024;
  properties.maxThreadsDim[2] = 64;
  properties.maxGridSize[0] = 0x7fffffff;
  properties.maxGridSize[1] = properties.maxGridSize[2] = 65535;
  properties.asyncEngineCount = 3;
  properties.concurrentKernels = properties.unifiedAddressing = properties.ECCEnabled = 1;
  properties.canMapHostMemory = properties.streamPrioritiesSupported = 1;
  properties.pciBusID = 1 + device;
}

}  // namespace
}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = settings().driver;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!has_device(device)) return fail(cudaErrorInvalidDevice);
  fill(*properties, device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!has_device(device)) return fail(cudaErrorInvalidDevice);
  if (attribute == cudaDevAttrComputeCapabilityMajor) {
    *value = capability_of(device) / 10;
    return cudaSuccess;
  }
  if (attribute == cudaDevAttrComputeCapabilityMinor) {
    *value = capability_of(device) % 10;
    return cudaSuccess;
  }
  const auto found = attributes().find(attribute);
  if (found == attributes().end())
    return fail(cudaErrorNotSupported,
                text("cudaDeviceGetAttribute of attribute ", static_cast<int>(attribute)));
  *value = found->second;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (!has_device(device)) return fail(cudaErrorInvalidDevice);
  if (length < 13) return fail(cudaErrorInvalidValue);
  std::snprintf(id, static_cast<std::size_t>(length), "EEEE:%02X:00.0",
                static_cast<unsigned>(device + 1));
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned /*flags*/) { return cudaSuccess; }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!has_device(device) || !has_device(peer)) return fail(cudaErrorInvalidDevice);
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                      int peer) {
  if (!has_device(device) || !has_device(peer) || device == peer)
    return fail(cudaErrorInvalidDevice);
  if (attribute != cudaDevP2PAttrAccessSupported &&
      attribute != cudaDevP2PAttrNativeAtomicSupported)
    return fail(cudaErrorNotSupported,
                text("cudaDeviceGetP2PAttribute of attribute ", static_cast<int>(attribute)));
  *value = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  const Call call;
  if (!has_device(peer) || peer == current_device()) return fail(cudaErrorInvalidDevice);
  if (flags != 0) return fail(cudaErrorInvalidValue);
  auto& peers = machine().peers();
  if (peers.contains({current_device(), peer})) return fail(cudaErrorPeerAccessAlreadyEnabled);
  const auto is_own = [](const auto& pair) { return pair.first == current_device(); };
  if (std::ranges::count_if(peers, is_own) >= settings().peers) return fail(cudaErrorTooManyPeers);
  peers.emplace(current_device(), peer);
  return cudaSuccess;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  const Call call;
  if (!has_device(peer)) return fail(cudaErrorInvalidDevice);
  if (machine().peers().erase({current_device(), peer}) == 0)
    return fail(cudaErrorPeerAccessNotEnabled);
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming)

namespace {

/// When the process ends, after the modules' own destructors.
[[gnu::destructor]] void report_leaks_at_exit() {
  if (!has_machine()) return;
  machine().tell_traffic();
  machine().report_leaks();
}

}  // namespace
