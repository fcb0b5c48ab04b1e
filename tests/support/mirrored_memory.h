#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <type_traits>

#include "src/device/device.h"
#include "src/device/host_mirror.h"

namespace ptbench::testing {

/// Copies in a device's memory of pieces of the host's, each with guards before and behind: what
/// lets work of a device be tested by those who hold memory of the host.
class MirroredMemory {
 public:
  explicit MirroredMemory(Device& device) : device_(device) {}

  /// Where `host`, which outlives it, lies on the device; equal addresses lie at equal addresses.
  template <class T>
  [[nodiscard]] std::span<T> on_device(std::span<T> host) {
    if (host.empty()) return {};
    auto* first = const_cast<std::remove_const_t<T>*>(host.data());
    std::byte* data = place_of(std::as_writable_bytes(std::span(first, host.size())));
    return {reinterpret_cast<T*>(data), host.size()};
  }

  /// Makes the host's values the device's, and waits.
  void upload();
  /// Makes the device's values the host's, and waits. A test fails here where a guard was written.
  void download();

 private:
  struct Piece {
    std::span<std::byte> host;
    Buffer buffer;
    HostMirror<std::byte> mirror;  ///< of the buffer, guards included
  };

  [[nodiscard]] std::byte* place_of(std::span<std::byte> host);

  Device& device_;
  std::list<Piece> pieces_;
};

}  // namespace ptbench::testing
