#pragma once

#include <memory>
#include <span>
#include <utility>

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

/// Work that is put off while a recording is made, so that what follows can join it in one launch.
class GatheredWork {
 public:
  GatheredWork() = default;
  GatheredWork(const GatheredWork&) = delete;
  GatheredWork& operator=(const GatheredWork&) = delete;
  virtual ~GatheredWork() = default;

  /// Launches all of it; nothing is put off then.
  virtual void launch(cudaStream_t stream) = 0;
  /// Forgets it.
  virtual void drop() noexcept = 0;
};

/// A stream of a CUDA device.
class CudaQueue final : public Queue {
 public:
  /// Of the device `index`, which is current.
  explicit CudaQueue(int index, OwnedStream stream = make_stream())
      : index_(index), stream_(std::move(stream)) {}

  [[nodiscard]] std::unique_ptr<Event> make_event(EventClock clock) override;
  void copy(std::span<const std::byte> from, std::span<std::byte> to) override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  [[nodiscard]] bool can_record() const override { return true; }
  /// As a CUDA graph. Other threads may call what they like meanwhile, but nothing of this queue.
  [[nodiscard]] std::unique_ptr<Recording> keep(FunctionRef<void()> work) override;
  void finish() override;

  /// For kernels and libraries, which ask for it before each launch: what was put off is launched
  /// first.
  [[nodiscard]] cudaStream_t stream() const;
  /// Whether work may be put off.
  [[nodiscard]] bool is_recording() const { return is_recording_; }
  /// The work is launched before whatever else is put on the queue, or where the recording ends. It
  /// may be added to until then, and outlives the recording.
  void put_off(GatheredWork& work);

 private:
  int index_;
  OwnedStream stream_;
  bool is_recording_ = false;
  mutable GatheredWork* put_off_ = nullptr;  ///< null: nothing
};

}  // namespace ptbench
