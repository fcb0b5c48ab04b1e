#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "src/base/element_type.h"
#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "src/comm/shm/shared_ranges.h"
#include "src/device/futex.h"

// What lies in the memory that the ranks of a SharedRegion share, in this order: the header, a
// block for each rank, the board of phases, the rings and mailboxes of each channel, each rank's
// arena and staging area, and the staging areas of the other channels. All of it begins as zeros.
// Raise kSharedAbi with every change here.
namespace ptbench::shared {

inline constexpr std::uint64_t kMagic = 0x68636e6562747000;  // "\0ptbench"
inline constexpr std::uint32_t kSharedAbi = 3;

/// A channel carries operations in an order of their own: those of all ranks on data, those of all
/// ranks on control messages, and those of a group. Groups that share no rank may have one channel.
inline constexpr std::size_t kDataChannel = 0;
inline constexpr std::size_t kControlChannel = 1;
inline constexpr std::size_t kFirstGroupChannel = 2;
/// That a rank may be in at once.
inline constexpr std::size_t kMostGroups = 16;
inline constexpr std::size_t kChannels = kFirstGroupChannel + kMostGroups;

/// Operations that a rank may have started and not waited for, on data of all ranks.
inline constexpr std::uint64_t kMostOutstanding = 256;
[[nodiscard]] constexpr std::uint64_t most_outstanding(std::size_t channel) {
  return channel == kDataChannel ? kMostOutstanding : kMostOutstanding / 4;
}
/// A rank that finished operation n of m outstanding ones knows that all have started it, thus
/// finished n − m and read everyone's slot of that; it may then have started n + m at most. So
/// twice as many are enough. A power of two.
[[nodiscard]] constexpr std::uint64_t slots_of(std::size_t channel) {
  return 2 * most_outstanding(channel);
}
/// Sends from one rank to another that may be started and not waited for.
inline constexpr std::uint64_t kMostLetters = 16;
/// Buffers that a rank's arena has out at once; a program takes a few dozen.
inline constexpr std::size_t kMostBuffers = 1024;
inline constexpr std::size_t kReasonSize = 512;
/// Two cache lines: cores fetch them in pairs.
inline constexpr std::size_t kLinePair = 128;

enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  reduce,
  gather,
  broadcast,
  barrier,
  send,  ///< to one rank, which receives: no collective, but started and waited for as those are
  receive,
};

/// What ranks must agree on.
struct Operation {
  Collective collective = Collective::barrier;
  WireType wire = WireType::fp32;
  ElementType type = ElementType::f32;
  bool at_root = false;  ///< Reduction::at_root
  float scale = 1;
  Size root = 0;  ///< of a message, the other rank
  Bytes bytes = 0;
  friend bool operator==(const Operation&, const Operation&) = default;
};

/// One started operation of one rank. `sequence` says that the rest is there: its number, from 1.
struct alignas(64) Slot {
  std::atomic<std::uint64_t> sequence;
  Operation operation;
  std::uint64_t offset;  ///< of the rank's values from the region's first byte
};

/// The operations that one rank has started in one channel, the latest ones: its slots follow.
/// Written by that rank alone.
struct OperationRing {
  /// The last operation whose values of other ranks it has read and written.
  alignas(kLinePair) std::atomic<std::uint64_t> worked;
};

/// A send: `sequence` says that the rest is there, its number among those of its pair, from 1.
struct alignas(64) Letter {
  std::atomic<std::uint64_t> sequence;
  Bytes bytes;
  std::uint64_t offset;  ///< of the values from the region's first byte
};

/// What one rank sends to one other in one channel.
struct Mailbox {
  /// The last letter that was copied; written by the receiver.
  alignas(kLinePair) std::atomic<std::uint64_t> taken;
  alignas(kLinePair) std::array<Letter, kMostLetters> letters;
};

/// What a rank may sleep for; a set of them is their sum.
enum class Change : std::uint32_t {
  none = 0,
  start = 1,   ///< the last rank starts a collective
  work = 2,    ///< the last rank has worked on one
  letter = 4,  ///< a send to this rank starts
  taken = 8,   ///< one of its own sends was copied
};

/// Written by its rank alone, but for the bell and the members.
struct RankBlock {
  /// Operations that it has worked on, in all channels: shows the watch whether it gets on.
  alignas(kLinePair) std::atomic<std::uint64_t> worked;
  /// Operations of the world that it has started on its device, of a communicator that works there.
  std::atomic<std::uint64_t> started_on_device;
  /// Rung for this rank by whoever makes a change that it sleeps for.
  alignas(kLinePair) FutexWord bell;
  /// A set of Change for each channel.
  std::array<std::atomic<std::uint32_t>, kChannels> sleeps_for;
  /// Ranks of the group that this rank is, or was, in by that channel which have not left it. Each
  /// member takes itself off in every member's block; 0: the channel is free for this rank. Below
  /// zero where others left before this rank was there.
  alignas(kLinePair) std::array<std::atomic<std::int64_t>, kMostGroups> members;
  /// No operation of a group that this rank has left had a higher number.
  std::uint64_t last_number;
  /// Of its arena. Here, so that all who allocate for this rank, one after another or through
  /// mappings of their own, know of each other's.
  TakenRanges<kMostBuffers> taken;
};

/// Who gave up first, and why.
struct Surrender {
  enum State : std::uint32_t { nobody, writing, told };
  std::atomic<std::uint32_t> state;
  std::int32_t rank;
  std::array<char, kReasonSize> reason;  ///< ends with a null character
};

/// Ranks that sleep for a change in one channel, so that nobody looks at every block where there
/// are none.
struct Sleepers {
  alignas(kLinePair) std::atomic<std::uint32_t> count;
};

struct Header {
  std::uint64_t magic;
  std::uint32_t abi;
  bool is_crowded;  ///< the ranks have more threads than cores
  Size world_size;
  Bytes bytes_per_rank;  ///< of an arena, and of a staging area
  std::chrono::nanoseconds longest_nap;
  alignas(kLinePair) Surrender surrender;
  std::array<Sleepers, kChannels> sleepers;  ///< by channel
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "ranks may be processes");
static_assert(sizeof(Slot) == 64);
static_assert(sizeof(Letter) == 64);
static_assert(sizeof(OperationRing) == kLinePair);

}  // namespace ptbench::shared
