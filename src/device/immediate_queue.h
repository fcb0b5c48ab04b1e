#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "src/device/device.h"
#include "src/device/queue.h"

namespace ptbench {

/// The queue of a device that works on the threads which call it: all that is given is done when
/// the call returns, and waiting costs nothing. The device's host threads share long copies.
class ImmediateQueue final : public Queue {
 public:
  /// The device outlives the queue.
  explicit ImmediateQueue(Device& device) : device_(device) {}

  [[nodiscard]] bool is_immediate() const override { return true; }
  [[nodiscard]] std::unique_ptr<Event> make_event(EventClock clock) override;
  void copy(std::span<const std::byte> from, std::span<std::byte> to) override;
  void record(Event& event) override;
  void wait(const Event& event) override { event.finish(); }
  void finish() override {}

 private:
  Device& device_;
};

}  // namespace ptbench
