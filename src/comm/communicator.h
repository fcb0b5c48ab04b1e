#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/element_type.h"
#include "src/base/size.h"
#include "src/device/memory.h"
#include "src/device/queue.h"
#include "src/device/work_observer.h"

namespace ptbench {

/// Memory that a collective works on: whole elements.
struct Values {
  std::span<std::byte> bytes;
  ElementType type = ElementType::f32;

  [[nodiscard]] Size count() const { return static_cast<Size>(bytes.size() / bytes_of(type)); }
};
[[nodiscard]] inline Values values_of(std::span<float> values) {
  return {.bytes = std::as_writable_bytes(values), .type = ElementType::f32};
}

/// How fp32 gradients travel; sums are fp32 in any case.
enum class WireType : std::uint8_t { fp32, bf16 };

/// A sum over ranks, times `scale`: 1 / world size averages.
struct Reduction {
  float scale = 1;
  WireType wire = WireType::fp32;  ///< of f32 values; bf16 values travel as they are
  bool at_root = false;  ///< of start_reduce: the root alone sums; else each rank sums its part
};

/// Part of `count` values that belongs to `rank`: whole cache lines of 16 floats, or halves of
/// lines of bf16, but for the end. What a reduce-scatter leaves there and an all-gather sends from
/// there. Equal for both types, so that master copies of bf16 values are cut alike.
[[nodiscard]] constexpr Range rank_part(Size count, Size rank, Size world_size) {
  constexpr Size kLine = 16;
  const Range lines = part_of((count + kLine - 1) / kLine, rank, world_size);
  return {std::min(lines.begin * kLine, count), std::min(lines.end * kLine, count)};
}

/// A fixed group of ranks, the collectives among them, and messages between two of them. All ranks
/// call the same collectives in the same order, with spans of equal length. Operations are started
/// and waited for, so that computation can go on between; what was given to an operation may not be
/// touched until it was waited for. Tickets are waited for in the order in which they were given;
/// waiting for one waits for all before it. A wait that misses its deadline, or learns that a rank
/// has given up, throws a run error that names this rank, the operation and the ranks that did not
/// come. Errors call ranks by their numbers in the world, in a group of it too.
///
/// `after`: the operation reads and writes what it is given only once that event is there, which
/// the caller need not wait for; null: at once. Starting may block until then. The event outlives
/// the operation.
///
/// Reductions sum in fp32, in rank order where no library has an order of its own; bf16 values are
/// rounded once, as they are stored.
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
  /// As in the catalog and on the command line.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Whether values travel over a link or a network, so that fewer bytes of them are less work;
  /// false where ranks read each other's memory, or there is one rank.
  [[nodiscard]] virtual bool sends_values() const = 0;
  [[nodiscard]] virtual Size rank() const = 0;
  [[nodiscard]] virtual Size world_size() const = 0;
  /// Whether it works on the device whose queues it is given to order, so that these can record it:
  /// nothing that is started waits on the host.
  [[nodiscard]] virtual bool works_on_device() const { return false; }
  /// From now on `watch` has its events recorded round each collective that is started here, though
  /// not in groups, where the device does it: behind the wait for `after`. Null: no longer. Only
  /// communicators that work on the device do so.
  virtual void watch(WorkObserver* /*watch*/) {}
  /// Where arenas should lie so that this communicator reduces them fastest.
  [[nodiscard]] virtual MemorySource& memory() = 0;

  /// Replaces `values` on every rank by the reduction over ranks; equal bits everywhere.
  [[nodiscard]] virtual Ticket start_all_reduce(Values values, Reduction reduction,
                                                const Event* after = nullptr) = 0;
  /// Replaces this rank's `rank_part` of `values` by the reduction; the rest is left unspecified.
  [[nodiscard]] virtual Ticket start_reduce_scatter(Values values, Reduction reduction,
                                                    const Event* after = nullptr) = 0;
  /// Replaces every `rank_part` of `values` by what its rank has there.
  [[nodiscard]] virtual Ticket start_all_gather(Values values, const Event* after = nullptr) = 0;
  /// Replaces `values` on `root` by the reduction; on others they stay.
  [[nodiscard]] virtual Ticket start_reduce(Values values, Size root, Reduction reduction,
                                            const Event* after = nullptr) = 0;
  /// Puts every rank's `part`, of equal sizes, one after the other into `whole` on `root`, which
  /// others leave empty.
  [[nodiscard]] virtual Ticket start_gather(std::span<const std::byte> part,
                                            std::span<std::byte> whole, Size root,
                                            const Event* after = nullptr) = 0;
  /// Replaces `bytes` on every rank by those of `root`.
  [[nodiscard]] virtual Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                               const Event* after = nullptr) = 0;
  /// Gives `bytes` to the receive of rank `to` that has the same place among those from this rank
  /// as this send has among those to that one; the lengths are equal. Only the two call it. Ranks
  /// may start sends to each other, or to themselves, and then receive: nobody has to come first.
  [[nodiscard]] virtual Ticket start_send(std::span<const std::byte> bytes, Size to,
                                          const Event* after = nullptr) = 0;
  /// Replaces `bytes` by what rank `from` sends.
  [[nodiscard]] virtual Ticket start_receive(std::span<std::byte> bytes, Size from,
                                             const Event* after = nullptr) = 0;
  /// Finished once every rank has started it.
  [[nodiscard]] virtual Ticket start_barrier() = 0;
  /// Blocks the host until the operation is finished.
  virtual void wait(Ticket ticket, Timeout timeout) = 0;
  /// What `queue` is given from now on begins after the operation. The host goes on where the
  /// communicator works on the device of the queue; one that works on the host waits here.
  virtual void order(Queue& queue, Ticket ticket, Timeout timeout) = 0;

  /// This rank's group: the ranks that gave the same colour, ordered by key, and by rank where keys
  /// are equal. All ranks call it, as a collective that each waits for by `timeout`. Groups have an
  /// order of operations of their own: they interleave freely with those of the communicator that
  /// was split and with each other's, as long as all are used by one thread of each rank. What a
  /// group takes is there again once it has ended on all its ranks. Throws a run error where too
  /// many groups are alive.
  [[nodiscard]] virtual std::unique_ptr<Communicator> split(Size colour, Size key,
                                                            Timeout timeout = kLongWork) = 0;
};

}  // namespace ptbench
