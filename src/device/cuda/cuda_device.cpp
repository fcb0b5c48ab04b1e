#include "src/device/cuda/cuda_device.h"

#include <fmt/format.h>

#include "src/device/cpu_load.h"
#include "src/device/cuda/check.h"

namespace ptbench {
namespace {

/// `index`, made current: members that are made next belong to it.
int made_current(int index) {
  PTBENCH_CUDA(cudaSetDevice(index));
  return index;
}

}  // namespace

CudaDevice::CudaDevice(int index)
    : index_(made_current(index)),
      compute_(index),
      transfer_(index),
      beside_(index, make_urgent_stream()),
      memory_(index, compute_.stream()),
      watch_(index) {
  cudaDeviceProp properties{};
  PTBENCH_CUDA(cudaGetDeviceProperties(&properties, index));
  name_ = properties.name;
  memory_bytes_ = properties.totalGlobalMem;
  multiprocessors_ = attribute(cudaDevAttrMultiProcessorCount);
}

std::string CudaDevice::id() const { return fmt::format("cuda:{}", index_); }

void CudaDevice::make_current() const { PTBENCH_CUDA(cudaSetDevice(index_)); }

void CudaDevice::finish() {
  make_current();
  PTBENCH_CUDA(cudaDeviceSynchronize());
}

/// The clock first: a device that idles soon changes it.
DeviceConditions CudaDevice::look() {
  DeviceConditions conditions;
  conditions.frequency_hertz = watch_.clock_hertz();
  conditions.accelerator = watch_.look();
  conditions.cpu_seconds = process_cpu_seconds();
  return conditions;
}

Bytes CudaDevice::free_memory() const {
  make_current();
  std::size_t free = 0;
  std::size_t total = 0;
  PTBENCH_CUDA(cudaMemGetInfo(&free, &total));
  return free;
}

std::string CudaDevice::compute_capability() const {
  return fmt::format("{}.{}", attribute(cudaDevAttrComputeCapabilityMajor),
                     attribute(cudaDevAttrComputeCapabilityMinor));
}

int CudaDevice::attribute(cudaDeviceAttr attribute) const {
  int value = 0;
  PTBENCH_CUDA(cudaDeviceGetAttribute(&value, attribute, index_));
  return value;
}

}  // namespace ptbench
