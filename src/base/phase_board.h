#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/base/size.h"

namespace ptbench {

/// What a rank is busy with, coarse enough to be told to a person.
enum class RankPhase : std::uint32_t {
  starting,
  loading_data,
  choosing,
  planning,
  verifying,
  warming_up,
  measuring,
  resting,  ///< another process that is measured in lockstep has its turn
  evaluating,
  timing_phases,
  tracing,
  saving,
  done,
};

[[nodiscard]] std::string_view name_of(RankPhase phase);

/// Each rank's current phase, one word a rank. The words lie in memory that the owner provides: a
/// plain array, or a mapping that a launcher shares with its ranks and reads after one has died.
class PhaseBoard {
 public:
  using Slot = std::atomic<std::uint32_t>;
  static_assert(Slot::is_always_lock_free, "slots are shared between processes");

  /// `slots`: one a rank, outlives the board.
  explicit PhaseBoard(std::span<Slot> slots) : slots_(slots) {}

  void enter(Size rank, RankPhase phase) {
    slots_[static_cast<std::size_t>(rank)].store(static_cast<std::uint32_t>(phase),
                                                 std::memory_order_release);
  }

  [[nodiscard]] RankPhase phase(Size rank) const {
    return static_cast<RankPhase>(
        slots_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire));
  }

 private:
  std::span<Slot> slots_;
};

}  // namespace ptbench
