#include "src/device/cuda/cuda_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "src/base/error.h"
#include "src/base/units.h"
#include "src/device/cuda/check.h"

namespace ptbench {
namespace {

/// "; 3 GiB are free", or nothing where even that cannot be found out.
std::string free_memory_text() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess)
    return fmt::format("; {} of {} are free", format_bytes(free), format_bytes(total));
  (void)cudaGetLastError();
  return {};
}

}  // namespace

void MemoryTally::add(Bytes bytes) {
  const Bytes now = now_ += bytes;
  Bytes peak = peak_;
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
}

Buffer CudaMemorySource::allocate(Bytes bytes, std::string_view purpose) {
  if (bytes == 0) return {};
  PTBENCH_CUDA(cudaSetDevice(index_));
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, bytes);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw run_error(fmt::format("cuda:{}: no memory for {}: {} asked for{}", index_, purpose,
                                format_bytes(bytes), free_memory_text()),
                    "choose a smaller --batch-size");
  }
  PTBENCH_CUDA(result);
  const Bytes taken = footprint(bytes);
  tally_->add(taken);
  Buffer buffer(static_cast<std::byte*>(memory), bytes, [tally = tally_, taken](std::byte* data) {
    PTBENCH_CUDA_NOTE(cudaFree(data));
    tally->remove(taken);
  });
  PTBENCH_CUDA(cudaMemsetAsync(memory, 0, bytes, stream_));
  PTBENCH_CUDA(cudaStreamSynchronize(stream_));
  return buffer;
}

Bytes CudaMemorySource::footprint(Bytes bytes) const {
  constexpr Bytes kUnit = 512;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

Buffer PageLockedMemorySource::allocate(Bytes bytes, std::string_view purpose) {
  if (bytes == 0) return {};
  void* memory = nullptr;
  const cudaError_t result = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw usage_error(
        fmt::format("no page-locked memory for {}: {} asked for", purpose, format_bytes(bytes)),
        "choose a smaller --batch-size");
  }
  PTBENCH_CUDA(result);
  Buffer buffer(static_cast<std::byte*>(memory), bytes,
                [](std::byte* data) { PTBENCH_CUDA_NOTE(cudaFreeHost(data)); });
  std::memset(memory, 0, bytes);
  return buffer;
}

}  // namespace ptbench
