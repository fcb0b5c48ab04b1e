#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_emulator/ptx/types.h"

namespace ptbench::emulator::nccl {

inline constexpr std::size_t kMaxRanks = 16;
/// What a rank shows of a collective at once, or sends to another.
inline constexpr std::size_t kSlotBytes = std::size_t{8} << 20U;
inline constexpr std::size_t kPairBytes = std::size_t{1} << 20U;
/// Splits that a communicator can have.
inline constexpr std::size_t kMaxSplits = 64;

/// What a rank says of a collective, by which the others see that they mean the same.
struct Description {
  std::array<char, 24> call;
  U64 count;
  int type;
  int op;
  int root;
  float factor;  ///< of an operation that scales before it sums

  bool operator==(const Description&) const = default;
};

/// Where the memory of a communicator is found by other processes: a file without a name.
struct Address {
  int process;
  int file;    ///< -1: none
  U64 number;  ///< of all that the process made
};

enum class Presence : int { absent, joined, left, aborted };

/// The memory that the ranks of a communicator share. It has no name, and goes with its processes.
class Region {
 public:
  struct Rank {
    std::atomic<int> presence;  ///< a Presence
    int ranks;                  ///< as many as it takes part in
    int process;
    std::array<char, 64> bus_id;
    std::array<char, 320> host;
    /// Pieces of collectives that it has shown, and of those that it has taken from the others.
    std::atomic<U64> posted;
    std::atomic<U64> taken;
    std::array<Description, 2> described;  ///< of its latest two pieces
  };
  struct Pair {
    std::atomic<U64> posted;
    std::atomic<U64> taken;
    U64 count;
    int type;
  };
  struct Split {
    std::atomic<int> is_there;
    int color;
    int key;
    Address address;  ///< of a region that this rank would lend to its colour
  };

  /// Makes one; invalid where the system has no more memory.
  [[nodiscard]] static Address create();
  /// Null where it cannot be reached: the process that made it is gone.
  [[nodiscard]] static std::shared_ptr<Region> open(const Address& address);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  [[nodiscard]] Rank& rank(int rank) { return shared_->ranks[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Pair& pair(int from, int to) {
    return shared_
        ->pairs[static_cast<std::size_t>(from) * kMaxRanks + static_cast<std::size_t>(to)];
  }
  [[nodiscard]] Split& split(std::size_t number, int rank) {
    return shared_->splits[number * kMaxRanks + static_cast<std::size_t>(rank)];
  }
  /// Of a rank's piece; two in turn, each of kSlotBytes.
  [[nodiscard]] U8* slot(int rank, U64 piece);
  /// Of kPairBytes.
  [[nodiscard]] U8* pair_slot(int from, int to);

 private:
  struct Shared {
    std::array<Rank, kMaxRanks> ranks;
    std::array<Pair, kMaxRanks * kMaxRanks> pairs;
    std::array<Split, kMaxRanks * kMaxSplits> splits;
  };
  explicit Region(void* at) : shared_(static_cast<Shared*>(at)) {}
  static std::size_t bytes();
  [[nodiscard]] U8* slots();

  Shared* shared_;
};

/// Processes of other ranks, and whether they still run.
class Peers {
 public:
  ~Peers();
  Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  void add(int rank, int process);
  /// Of the ranks whose processes have ended.
  [[nodiscard]] std::vector<int> ended() const;

 private:
  struct Peer {
    int rank;
    int file;  ///< a pidfd; -1: it had ended when it was added
  };
  std::vector<Peer> peers_;
};

}  // namespace ptbench::emulator::nccl
