#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <string_view>

#include "src/device/memory.h"

namespace ptbench {

/// What buffers of one device take now, and took at most. Buffers share it, so that it outlives
/// them.
class MemoryTally {
 public:
  void add(Bytes bytes);
  void remove(Bytes bytes) { now_ -= bytes; }
  [[nodiscard]] Bytes now() const { return now_; }
  [[nodiscard]] Bytes peak() const { return peak_; }
  /// Lets the peak begin anew at what is taken now.
  void reset_peak() { peak_ = now_.load(); }

 private:
  std::atomic<Bytes> now_ = 0;
  std::atomic<Bytes> peak_ = 0;
};

/// Memory of one CUDA device, which the host cannot read.
class CudaMemorySource final : public MemorySource {
 public:
  /// `stream` of the device `index` zeroes new memory. It outlives the source, not the buffers.
  CudaMemorySource(int index, cudaStream_t stream) : index_(index), stream_(stream) {}

  /// Aligned to 256 bytes. Waits for the stream. Where there is too little, because others have it,
  /// throws a run error that says how much is free: what the device can never hold was refused
  /// before.
  [[nodiscard]] Buffer allocate(Bytes bytes, std::string_view purpose) override;
  /// In units of the allocator, 512 bytes.
  [[nodiscard]] Bytes footprint(Bytes bytes) const override;
  /// Footprints of all buffers.
  [[nodiscard]] MemoryTally& tally() const { return *tally_; }

 private:
  int index_;
  cudaStream_t stream_;
  std::shared_ptr<MemoryTally> tally_ = std::make_shared<MemoryTally>();
};

/// Memory of the host that the kernel does not move, from which and to which any CUDA device copies
/// while the host goes on.
class PageLockedMemorySource final : public MemorySource {
 public:
  [[nodiscard]] Buffer allocate(Bytes bytes, std::string_view purpose) override;
};

}  // namespace ptbench
