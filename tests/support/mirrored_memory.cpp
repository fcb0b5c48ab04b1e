#include "tests/support/mirrored_memory.h"

#include <algorithm>
#include <cstring>

#include "src/base/error.h"

namespace ptbench::testing {
namespace {

/// Bytes on either side: so many that a piece is aligned as an allocation is.
constexpr std::size_t kGuard = 256;
constexpr std::byte kCanary{0xff};  // NaN, whatever type is read

bool is_canary(std::span<const std::byte> guard) {
  return std::ranges::all_of(guard, [](std::byte byte) { return byte == kCanary; });
}

}  // namespace

std::byte* MirroredMemory::place_of(std::span<std::byte> host) {
  for (const Piece& piece : pieces_)
    if (piece.host.data() == host.data() && piece.host.size() == host.size())
      return piece.buffer.data() + kGuard;
  Piece piece{.host = host,
              .buffer = device_.memory().allocate(host.size() + 2 * kGuard, "a test")};
  piece.mirror = HostMirror<std::byte>(device_, piece.buffer.as<std::byte>());
  pieces_.push_back(std::move(piece));
  return pieces_.back().buffer.data() + kGuard;
}

void MirroredMemory::upload() {
  for (const Piece& piece : pieces_) {
    const std::span<std::byte> values = piece.mirror.values();
    std::ranges::fill(values, kCanary);
    std::ranges::copy(piece.host, values.begin() + kGuard);
    piece.mirror.send(device_.compute());
  }
  device_.finish();
}

void MirroredMemory::download() {
  for (const Piece& piece : pieces_) piece.mirror.fetch(device_.compute());
  device_.finish();
  for (const Piece& piece : pieces_) {
    const std::span<std::byte> values = piece.mirror.values();
    ensure(is_canary(values.first(kGuard)) && is_canary(values.last(kGuard)),
           "a device's work stays within its memory");
    std::ranges::copy(values.subspan(kGuard, piece.host.size()), piece.host.begin());
  }
}

}  // namespace ptbench::testing
