#include "src/session/lockstep.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

/// Processes of the same work take nearly as much as each other.
constexpr double kMemoryMargin = 1.1;

class Lockstep {
 public:
  Lockstep(std::span<TurnTaker* const> takers, const LockstepPlan& plan, const LockstepSet& set)
      : takers_(takers), plan_(plan), set_(set), draw_(set.seed), order_(takers.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    outcome_.outcomes.assign(takers.size(), TurnsOutcome::measured);
  }

  LockstepOutcome run() {
    const double begin = set_.clock.now();
    if (begin_all()) {
      outcome_.starting_seconds = set_.clock.now() - begin;
      take_turns();
      end_all();
    }
    return std::move(outcome_);
  }

 private:
  /// Whether all sleep and wait for their first turn.
  bool begin_all() {
    const Bytes before = set_.available_memory();
    for (std::size_t taker = 0; taker < takers_.size(); ++taker) {
      show("starting", static_cast<double>(taker) / static_cast<double>(takers_.size()));
      const TurnsBegin begun = takers_[taker]->begin_turns(set_.labels.at(taker));
      if (begun == TurnsBegin::failed) return abandon(taker, TurnsOutcome::failed);
      if (begun == TurnsBegin::impossible)
        return refuse(taker, "a build does not know turns (ptbench.steps/1)");
      if (taker == 0 && !others_fit(before))
        return refuse(1, "its processes do not fit into memory together");
    }
    return true;
  }

  /// Whether memory is left for as many more as large as the first.
  [[nodiscard]] bool others_fit(Bytes before) const {
    const Bytes after = set_.available_memory();
    if (after >= before) return true;
    const auto others = static_cast<double>(takers_.size() - 1);
    return kMemoryMargin * others * static_cast<double>(before - after) <
           static_cast<double>(after);
  }

  /// The first `begun` takers have begun, and the one after them has not.
  bool abandon(std::size_t begun, TurnsOutcome how) {
    for (std::size_t taker = 0; taker < takers_.size(); ++taker) {
      outcome_.outcomes[taker] = taker == begun ? how : TurnsOutcome::idle;
      if (taker < begun) takers_[taker]->abandon_turns();
    }
    return false;
  }

  bool refuse(std::size_t begun, std::string why) {
    (void)abandon(begun, TurnsOutcome::idle);
    outcome_ = {.impossible = std::move(why), .starting_seconds = 0};
    return false;
  }

  void take_turns() {
    const double begin = set_.clock.now();
    for (Size round = 0; round < plan_.rounds; ++round) {
      const double elapsed = set_.clock.now() - begin;
      if (round > 0 && elapsed >= plan_.most_seconds) return;
      show(kTakingTurns, std::max(static_cast<double>(round) / static_cast<double>(plan_.rounds),
                                  elapsed / plan_.most_seconds));
      shuffle();
      for (const std::size_t taker : order_)
        if (!take_turn(taker)) return;
      std::ranges::reverse(order_);
      for (const std::size_t taker : order_)
        if (!take_turn(taker)) return;
    }
  }

  void show(std::string_view doing, double share) const {
    if (set_.show) set_.show(doing, share);
  }

  bool take_turn(std::size_t taker) {
    const bool taken = takers_[taker]->take_turn(
        {.number = turn_++, .seconds = plan_.turn_seconds, .steps = plan_.turn_steps});
    if (!taken) outcome_.outcomes[taker] = TurnsOutcome::failed;
    return taken;
  }

  /// What a taker measured before another one failed stays.
  void end_all() {
    for (std::size_t taker = 0; taker < takers_.size(); ++taker)
      if (outcome_.outcomes[taker] == TurnsOutcome::measured &&
          !takers_[taker]->end_turns(set_.name))
        outcome_.outcomes[taker] = TurnsOutcome::failed;
  }

  void shuffle() { std::ranges::shuffle(order_, draw_); }

  std::span<TurnTaker* const> takers_;
  const LockstepPlan& plan_;
  const LockstepSet& set_;
  std::mt19937_64 draw_;
  std::vector<std::size_t> order_;
  LockstepOutcome outcome_;
  Size turn_ = 0;
};

}  // namespace

LockstepOutcome measure_in_lockstep(std::span<TurnTaker* const> takers, const LockstepPlan& plan,
                                    const LockstepSet& set) {
  ensure(takers.size() > 1 && set.labels.size() == takers.size(), "turns are taken by several");
  return Lockstep(takers, plan, set).run();
}

}  // namespace ptbench
