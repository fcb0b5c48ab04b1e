#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "src/comm/shared_ranges.h"
#include "src/device/futex.h"

// What lies in the memory that the ranks of a SharedRegion share, in this order: the header, a
// block for each rank, the board of phases, and each rank's arena and staging area. Raise
// kSharedAbi with every change here.
namespace ptbench::shared {

inline constexpr std::uint64_t kMagic = 0x68636e6562747000;  // "\0ptbench"
inline constexpr std::uint32_t kSharedAbi = 2;

/// Operations that a rank may have started and not waited for.
inline constexpr std::uint64_t kMostOutstanding = 256;
/// A rank that finished operation n knows that all have started it, thus finished n − 256 and read
/// everyone's slot of that; it may then have started n + 256 at most. So twice as many are enough.
inline constexpr std::uint64_t kSlots = 2 * kMostOutstanding;
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
};

/// What ranks must agree on.
struct Operation {
  Collective collective = Collective::barrier;
  WireType wire = WireType::fp32;
  bool at_root = false;  ///< Reduction::at_root
  float scale = 1;
  Size root = 0;
  Bytes bytes = 0;
  friend bool operator==(const Operation&, const Operation&) = default;
};

/// One started operation of one rank. `sequence` says that the rest is there: its number, from 1.
struct alignas(64) Slot {
  std::atomic<std::uint64_t> sequence;
  Operation operation;
  std::uint64_t offset;  ///< of the rank's values from the region's first byte
};

/// What a rank sleeps for: that the last one starts an operation, or has worked on it.
enum class Change : std::uint32_t { none, start, work };

/// Written by its rank alone, but for the bell.
struct RankBlock {
  /// The last operation whose values of other ranks it has read and written.
  alignas(kLinePair) std::atomic<std::uint64_t> worked;
  /// Rung for this rank by whoever makes the change that it sleeps for.
  alignas(kLinePair) FutexWord bell;
  std::atomic<Change> sleeps_for;
  alignas(kLinePair) std::array<Slot, kSlots> slots;
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

struct Header {
  std::uint64_t magic;
  std::uint32_t abi;
  bool is_crowded;  ///< the ranks have more threads than cores
  Size world_size;
  Bytes bytes_per_rank;  ///< of an arena, and of a staging area
  std::chrono::nanoseconds longest_nap;
  alignas(kLinePair) Surrender surrender;
  /// Ranks that sleep, so that nobody looks at every block where there are none.
  alignas(kLinePair) std::atomic<std::uint32_t> sleepers;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "ranks may be processes");
static_assert(sizeof(Slot) == 64);

}  // namespace ptbench::shared
