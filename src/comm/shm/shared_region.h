#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/phase_board.h"
#include "src/base/size.h"
#include "src/comm/shm/shared_layout.h"

namespace ptbench {

/// Who gave up, and why.
struct GivenUp {
  Size rank = 0;
  std::string reason;
};

/// The memory of one group of ranks, which are threads of one process, or processes that share the
/// descriptor. It is anonymous (a memfd): nothing is left behind, however the ranks end. Pages
/// appear when they are touched, so a large capacity costs addresses and no memory. Copies share
/// the mapping, which lives as long as any of them.
class SharedRegion {
 public:
  /// No sleep of a rank that waits is longer, so that a wake that was lost with the process that
  /// owed it costs no more.
  static constexpr std::chrono::milliseconds kLongestNap{100};

  /// `bytes_per_rank`: capacity of each rank's arena, and of its area for staged values. `cores`:
  /// that the ranks have together, 0 for those that the calling thread may use;
  /// `threads_per_rank`: that compute in each rank. Where the ranks' threads outnumber the cores,
  /// waiting ranks give way at once instead of spinning. Throws a usage error where the system
  /// refuses.
  [[nodiscard]] static SharedRegion create(Size world_size, Bytes bytes_per_rank, int cores = 0,
                                           int threads_per_rank = 1,
                                           std::chrono::milliseconds longest_nap = kLongestNap);
  /// Of another process of this program; takes `descriptor` over. Throws a run error for a
  /// descriptor that is no region, or another version's.
  [[nodiscard]] static SharedRegion open(int descriptor);

  [[nodiscard]] int descriptor() const;
  [[nodiscard]] Size world_size() const { return header().world_size; }
  [[nodiscard]] Bytes bytes_per_rank() const { return header().bytes_per_rank; }
  [[nodiscard]] bool is_crowded() const { return header().is_crowded; }

  /// For a PhaseBoard, one word a rank; readable whatever became of the ranks.
  [[nodiscard]] std::span<PhaseBoard::Slot> phases() const;
  /// Whether all ranks sleep because another process has its turn.
  [[nodiscard]] bool is_resting() const;

  /// Says for `rank` that it will not come any more, for one that died too: whoever waits, or comes
  /// to wait, throws. Only the first counts. A long reason is cut.
  void give_up(Size rank, std::string_view reason) const noexcept;
  [[nodiscard]] std::optional<GivenUp> given_up() const;

  // For the communicator: what lies in the memory.
  [[nodiscard]] shared::Header& header() const;
  [[nodiscard]] shared::RankBlock& rank_block(Size rank) const;
  [[nodiscard]] shared::OperationRing& ring(std::size_t channel, Size rank) const;
  /// Of a ring, slots_of(channel).
  [[nodiscard]] shared::Slot* slots(std::size_t channel, Size rank) const;
  [[nodiscard]] shared::Mailbox& mailbox(std::size_t channel, Size sender, Size receiver) const;
  [[nodiscard]] std::span<std::byte> arena(Size rank) const;
  [[nodiscard]] std::span<std::byte> staging(Size rank,
                                             std::size_t channel = shared::kDataChannel) const;
  [[nodiscard]] std::byte* at(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t offset_of(const void* address) const;

 private:
  class Mapping;
  explicit SharedRegion(std::shared_ptr<const Mapping> mapping);

  std::shared_ptr<const Mapping> mapping_;
};

/// While it lives, programs that this process starts inherit the region's descriptor, under the
/// same number. The region outlives it.
class InheritedRegion {
 public:
  explicit InheritedRegion(const SharedRegion& region);
  ~InheritedRegion();
  InheritedRegion(const InheritedRegion&) = delete;
  InheritedRegion& operator=(const InheritedRegion&) = delete;

 private:
  int descriptor_;
};

}  // namespace ptbench
