#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "src/base/size.h"
#include "src/device/memory.h"

namespace ptbench {

/// How gradients travel; sums are fp32 in any case.
enum class WireType : std::uint8_t { fp32, bf16 };

/// A sum over ranks, times `scale`: 1 / world size averages.
struct Reduction {
  float scale = 1;
  WireType wire = WireType::fp32;
  bool at_root = false;  ///< of start_reduce: the root alone sums; else each rank sums its part
};

/// Part of `count` values that belongs to `rank`: whole cache lines of 16 floats, but for the end.
/// What a reduce-scatter leaves there and an all-gather sends from there.
[[nodiscard]] constexpr Range rank_part(Size count, Size rank, Size world_size) {
  constexpr Size kLine = 16;
  const Range lines = part_of((count + kLine - 1) / kLine, rank, world_size);
  return intersect({lines.begin * kLine, lines.end * kLine}, {0, count});
}

/// A fixed group of ranks and the collectives among them. All ranks call the same collectives in
/// the same order, with spans of equal length. Operations are started and waited for, so that
/// computation can go on between; what was given to an operation may not be touched until it was
/// waited for. Tickets are waited for in the order in which they were given; waiting for one waits
/// for all before it. A wait that misses its deadline, or learns that a rank has given up, throws a
/// run error that names this rank, the operation and the ranks that did not come.
///
/// Spans that lie in memory() are worked on in place, where every rank allocated the same amounts
/// in the same order; others are copied through a staging area. Where that has no room, starting
/// throws a run error.
class Communicator {
 public:
  /// One started operation. Starting allocates nothing, so a ticket is a number, not a handle.
  enum class Ticket : std::uint64_t {};
  using Timeout = std::chrono::milliseconds;

  /// Deadline for waits that one rank's work by itself may hold up: choosing operators, evaluating
  /// a large data set.
  static constexpr Timeout kLongWork = std::chrono::minutes(30);

  virtual ~Communicator() = default;
  /// As on the command line: "solo", "shm".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Size rank() const = 0;
  [[nodiscard]] virtual Size world_size() const = 0;
  /// Where arenas should lie so that this communicator reduces them fastest.
  [[nodiscard]] virtual MemorySource& memory() = 0;

  /// Replaces `values` on every rank by the reduction over ranks; equal bits everywhere.
  [[nodiscard]] virtual Ticket start_all_reduce(std::span<float> values, Reduction reduction) = 0;
  /// Replaces this rank's `rank_part` of `values` by the reduction; the rest is left unspecified.
  [[nodiscard]] virtual Ticket start_reduce_scatter(std::span<float> values,
                                                    Reduction reduction) = 0;
  /// Replaces every `rank_part` of `values` by what its rank has there.
  [[nodiscard]] virtual Ticket start_all_gather(std::span<float> values) = 0;
  /// Replaces `values` on `root` by the reduction; on others they stay.
  [[nodiscard]] virtual Ticket start_reduce(std::span<float> values, Size root,
                                            Reduction reduction) = 0;
  /// Puts every rank's `part`, of equal sizes, one after the other into `whole` on `root`, which
  /// others leave empty.
  [[nodiscard]] virtual Ticket start_gather(std::span<const std::byte> part,
                                            std::span<std::byte> whole, Size root) = 0;
  /// Replaces `bytes` on every rank by those of `root`.
  [[nodiscard]] virtual Ticket start_broadcast(std::span<std::byte> bytes, Size root) = 0;
  /// Finished once every rank has started it.
  [[nodiscard]] virtual Ticket start_barrier() = 0;
  virtual void wait(Ticket ticket, Timeout timeout) = 0;
};

}  // namespace ptbench
