// Several devices; what needs two passes where there is one.
#include <cstring>

#include "tests/cuda_emulator/cases/case.h"

namespace ptbench::emulator::cases {
namespace {

__global__ void incremented(float* values) { values[threadIdx.x] += 1; }

bool has_two() {
  int devices = 0;
  CASE_CHECK(cudaGetDeviceCount(&devices));
  return devices >= 2;
}

/// A kernel on the second device with memory of the first.
bool peer_access(bool faulty) {
  if (!has_two()) return true;
  const DeviceArray<float> of_first(std::vector<float>(32, 1.0F));
  CASE_CHECK(cudaSetDevice(1));
  if (!faulty) CASE_CHECK(cudaDeviceEnablePeerAccess(0, 0));
  incremented<<<1, 32>>>(of_first.get());
  CASE_CHECK(cudaDeviceSynchronize());
  const bool right = same("incremented", of_first.read(), std::vector<float>(32, 2.0F));
  CASE_CHECK(cudaSetDevice(0));
  return right;
}

bool peer_copy(bool) {
  if (!has_two()) return true;
  const DeviceArray<float> of_first(std::vector<float>(32, 1.0F));
  CASE_CHECK(cudaSetDevice(1));
  const DeviceArray<float> of_second(32);
  const StreamOwner stream;
  CASE_CHECK(
      cudaMemcpyPeerAsync(of_second.get(), 1, of_first.get(), 0, 32 * sizeof(float), stream.get()));
  incremented<<<1, 32, 0, stream.get()>>>(of_second.get());
  stream.finish();
  const bool right = same("copied", of_second.read(), std::vector<float>(32, 2.0F));
  CASE_CHECK(cudaSetDevice(0));
  return right;
}

/// Streams belong to the device on which they were made.
bool stream_of_other_device(bool) {
  if (!has_two()) return true;
  const DeviceArray<float> values(std::vector<float>(32, 1.0F));
  const StreamOwner stream;
  CASE_CHECK(cudaSetDevice(1));
  incremented<<<1, 32, 0, stream.get()>>>(values.get());
  const bool is_refused = cudaGetLastError() == cudaErrorInvalidResourceHandle;
  CASE_CHECK(cudaSetDevice(0));
  return is_refused && cudaSetDevice(99) == cudaErrorInvalidDevice;
}

/// Events do too: they are recorded by streams of their device, and no time lies between those of
/// two devices. That a stream waits for one of another device is allowed.
bool event_of_other_device(bool) {
  if (!has_two()) return true;
  const StreamOwner stream;
  const EventOwner begin(cudaEventDefault);
  CASE_CHECK(cudaEventRecord(begin.get(), stream.get()));
  CASE_CHECK(cudaSetDevice(1));
  const StreamOwner other_stream;
  const EventOwner other(cudaEventDefault);
  const bool is_refused =
      cudaEventRecord(other.get(), stream.get()) == cudaErrorInvalidResourceHandle;
  CASE_CHECK(cudaStreamWaitEvent(other_stream.get(), begin.get(), 0));
  CASE_CHECK(cudaEventRecord(other.get(), other_stream.get()));
  other_stream.finish();
  CASE_CHECK(cudaEventSynchronize(begin.get()));
  float milliseconds = 0;
  const cudaError_t between = cudaEventElapsedTime(&milliseconds, begin.get(), other.get());
  CASE_CHECK(cudaSetDevice(0));
  return is_refused && between == cudaErrorInvalidResourceHandle;
}

bool properties(bool) {
  cudaDeviceProp device{};
  CASE_CHECK(cudaGetDeviceProperties(&device, 0));
  int capability = 0;
  CASE_CHECK(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, 0));
  cudaFuncAttributes function{};
  CASE_CHECK(cudaFuncGetAttributes(&function, incremented));
  int blocks = 0;
  CASE_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, incremented, 256, 0));
  return std::strcmp(device.name, "emulated sm_80") == 0 && device.major == 8 && capability == 8 &&
         function.numRegs > 0 && blocks == 8;
}

bool out_of_memory(bool) {
  std::size_t available = 0;
  std::size_t total = 0;
  CASE_CHECK(cudaMemGetInfo(&available, &total));
  void* at = nullptr;
  return cudaMalloc(&at, available + 1) == cudaErrorMemoryAllocation && at == nullptr &&
         cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess;
}

}  // namespace

std::vector<Case> device_cases() {
  return {{"peer-access", peer_access},
          {"peer-copy", peer_copy},
          {"stream-of-other-device", stream_of_other_device},
          {"event-of-other-device", event_of_other_device},
          {"properties", properties},
          {"out-of-memory", out_of_memory}};
}

}  // namespace ptbench::emulator::cases
