#pragma once

#include <optional>
#include <string>

#include "src/device/cuda/cuda_memory.h"
#include "src/device/cuda/cuda_queue.h"
#include "src/device/cuda/gpu_telemetry.h"
#include "src/device/device.h"

namespace ptbench {

/// A GPU with one stream for computing, one for copies and an urgent one beside them. Its memory is
/// its own.
class CudaDevice final : public Device {
 public:
  /// `index` counts the devices that CUDA_VISIBLE_DEVICES leaves, from 0; it is one of them.
  explicit CudaDevice(int index);

  [[nodiscard]] std::string id() const override;
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Bytes memory_bytes() const override { return memory_bytes_; }
  [[nodiscard]] MemorySource& memory() override { return memory_; }
  [[nodiscard]] std::optional<DeviceMemoryUse> own_memory() const override {
    return DeviceMemoryUse{.now = memory_.tally().now(), .peak = memory_.tally().peak()};
  }
  void reset_peak_memory() override { memory_.tally().reset_peak(); }
  [[nodiscard]] bool shares_memory_with_host() const override { return false; }
  [[nodiscard]] MemorySource& page_locked_memory() override { return page_locked_memory_; }
  [[nodiscard]] CudaQueue& compute() override { return compute_; }
  [[nodiscard]] Queue& transfer() override { return transfer_; }
  [[nodiscard]] Queue* beside() override { return &beside_; }
  void finish() override;
  [[nodiscard]] DeviceConditions look() override;
  [[nodiscard]] std::optional<WatchGap> throttling_gap() const override {
    return watch_.throttling_gap();
  }

  /// Makes it the device of the calling thread's next calls, as kernels need. Costs nothing where
  /// it is already.
  void make_current() const;
  /// For kernels and libraries: the stream of compute(), as `CudaQueue::stream` gives it.
  [[nodiscard]] cudaStream_t stream() const { return compute_.stream(); }
  /// "9.0".
  [[nodiscard]] std::string compute_capability() const;
  [[nodiscard]] int multiprocessors() const { return multiprocessors_; }
  /// Memory that nobody has, neither this process nor another.
  [[nodiscard]] Bytes free_memory() const;
  /// Memory that own_memory() does not count, for measuring the device beside a run. The device
  /// outlives the source.
  [[nodiscard]] CudaMemorySource uncounted_memory() const { return {index_, stream()}; }

 private:
  [[nodiscard]] int attribute(cudaDeviceAttr attribute) const;

  int index_;
  std::string name_;
  Bytes memory_bytes_ = 0;
  int multiprocessors_ = 0;
  CudaQueue compute_;
  CudaQueue transfer_;
  CudaQueue beside_;
  CudaMemorySource memory_;
  PageLockedMemorySource page_locked_memory_;
  GpuTelemetry watch_;  ///< last, when this process has begun to use the device
};

}  // namespace ptbench
