#include "src/device/host_mirror.h"

namespace ptbench {

HostBytes::HostBytes(Device& device, std::span<std::byte> memory)
    : memory_(memory), values_(memory) {
  if (device.shares_memory_with_host() || memory.empty()) return;
  copy_ = device.page_locked_memory().allocate(memory.size(), "the host's side of a copy");
  values_ = copy_.as<std::byte>();
}

}  // namespace ptbench
