#pragma once

#include <string>

#include "src/device/device.h"
#include "src/device/immediate_queue.h"

namespace ptbench {

/// The calling thread as a device, as it is: not pinned, and alone. What the reference computes on.
class HostDevice final : public Device {
 public:
  [[nodiscard]] std::string id() const override { return "cpu"; }
  [[nodiscard]] std::string name() const override { return "the calling thread"; }
  [[nodiscard]] Bytes memory_bytes() const override { return available_memory(); }
  [[nodiscard]] MemorySource& memory() override { return memory_; }
  [[nodiscard]] bool shares_memory_with_host() const override { return true; }
  [[nodiscard]] MemorySource& page_locked_memory() override { return memory_; }
  [[nodiscard]] Queue& compute() override { return queue_; }
  [[nodiscard]] Queue& transfer() override { return queue_; }
  void finish() override {}
  [[nodiscard]] DeviceConditions look() override;

 private:
  HostMemorySource memory_;
  ImmediateQueue queue_{*this};
};

}  // namespace ptbench
