// Memory of devices and page-locked memory of the host.
#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/runtime/call.h"

namespace ptbench::emulator {
namespace {

/// False where no allocation begins there.
bool release(void* at) {
  const Allocation* allocation = machine().memory().table().starting_at(at);
  if (allocation == nullptr) return false;
  if (machine().marks() != nullptr) machine().marks()->forget(at, allocation->bytes);
  return machine().memory().release(at);
}

}  // namespace
}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  const Call call("cudaMalloc");
  if (const cudaError_t error = refuse_in_capture("cudaMalloc")) return error;
  *at = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (machine().is_broken()) return state();
  *at = machine().memory().allocate(current_device(), bytes);
  if (*at == nullptr) return fail(cudaErrorMemoryAllocation);
  return cudaSuccess;
}

cudaError_t cudaFree(void* at) {
  const Call call("cudaFree");
  if (at == nullptr) return cudaSuccess;
  if (const cudaError_t error = refuse_in_capture("cudaFree")) return error;
  if (const Allocation* freed = machine().memory().table().starting_at(at))
    machine().scheduler().wait_for_all(freed->device);
  if (!release(at))
    return fail(cudaErrorInvalidValue,
                text("cudaFree of ", machine().memory().describe(at), ", where none begins"));
  return state();
}

cudaError_t cudaMallocAsync(void** at, std::size_t bytes, cudaStream_t stream) {
  const Call call;
  cudaError_t error = cudaSuccess;
  const Stream* found = stream_of(stream, error);
  if (found == nullptr) return error;
  if (found->capture) return fail(cudaErrorNotSupported, "cudaMallocAsync in a capture");
  *at = nullptr;
  if (bytes == 0) return cudaSuccess;
  *at = machine().memory().allocate(found->device, bytes);
  if (*at == nullptr) return fail(cudaErrorMemoryAllocation);
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* at, cudaStream_t stream) {
  const Call call;
  cudaError_t error = cudaSuccess;
  const Stream* found = stream_of(stream, error);
  if (found == nullptr) return error;
  if (found->capture) return fail(cudaErrorNotSupported, "cudaFreeAsync in a capture");
  const Allocation* allocation = machine().memory().table().starting_at(at);
  if (allocation == nullptr)
    return fail(cudaErrorInvalidValue,
                text("cudaFreeAsync of ", machine().memory().describe(at), ", where none begins"));
  const std::size_t bytes = allocation->bytes;
  return enqueue(stream, "cudaFreeAsync", [at, bytes] {
    // Whoever still uses it races with this, as with a writer; memory is taken when all is over.
    machine().touch("cudaFreeAsync", at, bytes, true);
    release(at);
  });
}

cudaError_t cudaHostAlloc(void** at, std::size_t bytes, unsigned /*flags*/) {
  const Call call("cudaHostAlloc");
  if (const cudaError_t error = refuse_in_capture("cudaHostAlloc")) return error;
  *at = nullptr;
  if (bytes == 0) return cudaSuccess;
  *at = machine().page_locked().allocate(bytes);
  return *at == nullptr ? fail(cudaErrorMemoryAllocation) : cudaSuccess;
}
cudaError_t cudaMallocHost(void** at, std::size_t bytes) { return cudaHostAlloc(at, bytes, 0); }

cudaError_t cudaFreeHost(void* at) {
  const Call call("cudaFreeHost");
  if (at == nullptr) return cudaSuccess;
  if (const cudaError_t error = refuse_in_capture("cudaFreeHost")) return error;
  machine().scheduler().wait_for_all(current_device());
  return machine().page_locked().release(at) ? state() : fail(cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void* at, std::size_t bytes, unsigned /*flags*/) {
  const Call call;
  if (const cudaError_t error = refuse_in_capture("cudaHostRegister")) return error;
  if (at == nullptr || bytes == 0) return fail(cudaErrorInvalidValue);
  return machine().page_locked().add(at, bytes) ? cudaSuccess
                                                : fail(cudaErrorHostMemoryAlreadyRegistered);
}
cudaError_t cudaHostUnregister(void* at) {
  const Call call;
  if (const cudaError_t error = refuse_in_capture("cudaHostUnregister")) return error;
  machine().scheduler().wait_for_all(current_device());
  return machine().page_locked().remove(at) ? cudaSuccess : fail(cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned /*flags*/) {
  const Call call;
  if (!machine().page_locked().holds(host, 1)) return fail(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const Call call;
  *free = machine().memory().free_bytes(current_device());
  *total = settings().memory_bytes;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
  const Call call;
  *attributes = {};
  attributes->device = -2;
  if (const Allocation* found = machine().memory().table().find(at)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = found->device;
    attributes->devicePointer = const_cast<void*>(at);
  } else if (machine().page_locked().holds(at, 1)) {
    attributes->type = cudaMemoryTypeHost;
    attributes->device = current_device();
    attributes->devicePointer = attributes->hostPointer = const_cast<void*>(at);
  } else {
    attributes->type = cudaMemoryTypeUnregistered;
  }
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming)
