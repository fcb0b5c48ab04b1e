#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "app/config/run_files.h"
#include "src/base/clock.h"
#include "src/base/phase_board.h"
#include "src/base/size.h"
#include "src/comm/ranks_apart.h"
#include "src/comm/shm/shared_region.h"
#include "src/process/interrupt.h"
#include "src/process/progress.h"

namespace ptbench {

/// With which a rank that a signal interrupted gives up.
inline constexpr std::string_view kInterruptedReason = "it was stopped by a signal";

/// What a run talks to while it works; everything outlives it.
struct RunSurroundings {
  const Clock& clock;
  InterruptWatch& interrupt;
  Progress& progress;
  RunFiles& files;
  const SharedRegion* region = nullptr;  ///< of the ranks that this process is one of
  RanksApart* apart = nullptr;           ///< null: these are on one host
};

/// Thrown between two pieces of work once a signal has come; what the record holds by then stays.
struct Interrupted {};

/// How far a run has come, for people and for the watch of its ranks, and whether it may go on.
class RunProgress {
 public:
  /// `around` outlives the watch.
  RunProgress(const RunSurroundings& around, Size rank);
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;
  ~RunProgress() = default;

  /// A phase begins. On rank 0 throws Interrupted where a signal has come, and lets the others
  /// know.
  void enter(RankPhase phase);
  /// A phase begins for the watch of the ranks; people are not shown it.
  void enter_unseen(RankPhase phase) { board_.enter(rank_, phase); }
  [[nodiscard]] RankPhase phase() const { return board_.phase(rank_); }
  /// Shows people how far the phase has come: `done` of `total` things (above 0).
  void count(Size done, Size total) const { around_.progress.count(done, total); }

  [[nodiscard]] bool is_interrupted() const { return around_.interrupt.requested(); }
  /// Throws Interrupted where a signal has come, and lets the other ranks know.
  void stop_if_interrupted() const;
  /// Lets the other ranks know that this one ends for a signal, whatever they wait for.
  void give_up_interrupted() const;
  /// For work in pieces: whether the next one is to be begun. The watch outlives it.
  [[nodiscard]] std::function<bool()> keep_going() const {
    return [this] { return !is_interrupted(); };
  }

 private:
  const RunSurroundings& around_;
  Size rank_;
  std::array<PhaseBoard::Slot, 1> own_slot_{};
  PhaseBoard board_;  ///< the launcher's, where there is one
};

}  // namespace ptbench
