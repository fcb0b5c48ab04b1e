#pragma once

#include <memory>
#include <span>

#include "src/device/cuda/handles.h"
#include "src/device/queue.h"

namespace ptbench {

/// An event of a CUDA device. Those with a clock resolve about half a microsecond.
class CudaEvent final : public Event {
 public:
  explicit CudaEvent(EventClock clock);

  void finish() const override;
  [[nodiscard]] double seconds_since(const Event& earlier) const override;
  [[nodiscard]] cudaEvent_t handle() const { return event_.get(); }

 private:
  OwnedEvent event_;
};

/// A stream of a CUDA device.
class CudaQueue final : public Queue {
 public:
  /// Of the device `index`, which is current.
  explicit CudaQueue(int index) : index_(index), stream_(make_stream()) {}

  [[nodiscard]] std::unique_ptr<Event> make_event(EventClock clock) override;
  void copy(std::span<const std::byte> from, std::span<std::byte> to) override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  [[nodiscard]] bool can_record() const override { return true; }
  /// As a CUDA graph. Other threads may call what they like meanwhile.
  [[nodiscard]] std::unique_ptr<Recording> keep(FunctionRef<void()> work) override;
  void finish() override;

  /// For kernels and libraries.
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

 private:
  int index_;
  OwnedStream stream_;
};

}  // namespace ptbench
