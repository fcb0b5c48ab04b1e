#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/cuda_emulator/device/exports.h"

// Memory that products and convolutions are lent while they run.

namespace ptbench::emulator {

/// A piece of device memory.
struct Extent {
  const void* at = nullptr;
  std::size_t bytes = 0;

  /// Whether a byte lies in both.
  [[nodiscard]] bool meets(const Extent& other) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    const auto other_begin = reinterpret_cast<std::uintptr_t>(other.at);
    return bytes != 0 && other.bytes != 0 && begin < other_begin + other.bytes &&
           other_begin < begin + bytes;
  }
};

/// Fills all of a workspace with NaN, as an operation may that was lent it: what others had there
/// is lost, however much of it the operation needs. Tells the device that it is written.
inline void spoil(const char* what, void* workspace, std::size_t bytes) {
  if (bytes == 0) return;
  ptbench_emulator_touch(what, workspace, bytes, true);
  std::memset(workspace, 0xff, bytes);
}

}  // namespace ptbench::emulator
