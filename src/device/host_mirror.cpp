#include "src/device/host_mirror.h"

namespace ptbench {

HostBytes::HostBytes(Device& device, std::span<std::byte> memory)
    : memory_(memory), values_(memory) {
  if (device.shares_memory_with_host() || memory.empty()) return;
  copy_ = device.page_locked_memory().allocate(memory.size(), "the host's side of a copy");
  values_ = copy_.as<std::byte>();
}

void set_value(Device& device, const HostMirror<float>& mirror, float value) {
  if (mirror.values().front() == value) return;
  device.finish();
  mirror.values().front() = value;
  write_back(device, mirror);
}

}  // namespace ptbench
