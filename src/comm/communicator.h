#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "src/base/size.h"
#include "src/device/memory.h"

namespace ptbench {

/// A fixed group of ranks and the collectives among them. All ranks call the same collectives in
/// the same order. Operations are started and waited for, so that computation can go on between;
/// a wait that misses its deadline throws a run error that names the rank and the operation.
class Communicator {
 public:
  /// One started operation. Starting allocates nothing, so a ticket is a number, not a handle.
  enum class Ticket : std::uint64_t {};
  using Timeout = std::chrono::milliseconds;

  virtual ~Communicator() = default;
  /// As on the command line: "solo", "shm".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Size rank() const = 0;
  [[nodiscard]] virtual Size world_size() const = 0;
  /// Where arenas should lie so that this communicator reduces them fastest.
  [[nodiscard]] virtual MemorySource& memory() = 0;

  /// Replaces `values` on every rank by the sum over ranks. They may not be touched until waited
  /// for.
  [[nodiscard]] virtual Ticket start_all_reduce(std::span<float> values) = 0;
  /// Replaces `bytes` on every rank by those of `root`.
  [[nodiscard]] virtual Ticket start_broadcast(std::span<std::byte> bytes, Size root) = 0;
  /// Finished once every rank has started it.
  [[nodiscard]] virtual Ticket start_barrier() = 0;
  virtual void wait(Ticket ticket, Timeout timeout) = 0;
};

}  // namespace ptbench
