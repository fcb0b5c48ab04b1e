#pragma once

#include <cstddef>
#include <span>

#include "src/device/device.h"

namespace ptbench {

/// The host's side of a piece of device memory: the memory itself where the host shares it, else
/// page-locked memory that is as large, and is copied from and to. Move-only.
class HostBytes {
 public:
  HostBytes() = default;
  /// `memory` and `device` outlive it. The values are those of the device after `fetch`.
  HostBytes(Device& device, std::span<std::byte> memory);

  /// Valid while no queue works on them.
  [[nodiscard]] std::span<std::byte> values() const { return values_; }
  [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
  /// Gives `queue` the copy of the device's values to the host.
  void fetch(Queue& queue) const {
    if (is_copy()) queue.copy(memory_, values_);
  }
  /// Gives `queue` the copy of the host's values to the device.
  void send(Queue& queue) const {
    if (is_copy()) queue.copy(values_, memory_);
  }
  /// False where the values are the device's memory, which is never copied.
  [[nodiscard]] bool is_copy() const { return copy_.bytes() > 0; }

 private:
  std::span<std::byte> memory_;
  Buffer copy_;
  std::span<std::byte> values_;
};

/// The host's side of values of type T, as HostBytes.
template <class T>
class HostMirror {
 public:
  HostMirror() = default;
  HostMirror(Device& device, std::span<T> memory)
      : bytes_(device, std::as_writable_bytes(memory)) {}

  [[nodiscard]] std::span<T> values() const { return as_values(bytes_.values()); }
  [[nodiscard]] std::span<T> memory() const { return as_values(bytes_.memory()); }
  void fetch(Queue& queue) const { bytes_.fetch(queue); }
  void send(Queue& queue) const { bytes_.send(queue); }
  [[nodiscard]] bool is_copy() const { return bytes_.is_copy(); }

 private:
  [[nodiscard]] static std::span<T> as_values(std::span<std::byte> bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  HostBytes bytes_;
};

/// A mirror of what lies in `memory` once all work of the device is done, which this waits for. On
/// a device that shares memory with the host the values follow the device's later work, elsewhere
/// they stay. Not for steps: it allocates.
template <class T>
[[nodiscard]] HostMirror<T> read_back(Device& device, std::span<T> memory) {
  HostMirror<T> mirror(device, memory);
  device.finish();
  mirror.fetch(device.compute());
  device.compute().finish();
  return mirror;
}

/// Makes the mirror's values the device's, and waits until they are.
template <class T>
void write_back(Device& device, const HostMirror<T>& mirror) {
  mirror.send(device.compute());
  device.compute().finish();
}

/// Makes the one value of `mirror` another one: on the host, and on the device once its work is
/// done, which this waits for. Waits for nothing where the value is that already.
void set_value(Device& device, const HostMirror<float>& mirror, float value);

}  // namespace ptbench
