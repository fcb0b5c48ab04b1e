// How the cells of a sweep take turns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "app/session/sweep.h"
#include "src/device/memory.h"

namespace ptbench {

/// While others have their turn, loaders would gather batches for which steps do not wait then.
void Sweep::keep_from_turns(std::size_t row) {
  if (takes_turns_[row] && sides_.size() > 1)
    warn_of_no_turns(row, "its loader threads (--data-workers) would work ahead");
  takes_turns_[row] = false;
}

void Sweep::warn_of_no_turns(std::size_t row, std::string_view why) const {
  around_.warn(fmt::format("row '{}' is measured by whole processes, not in lockstep: {}",
                           rows_[row].id(), why));
}

/// All that are to have just this round and can take turns, alive at the same time. Whoever could
/// not is left to be measured by itself.
void Sweep::measure_in_turns(std::size_t group, std::span<const std::size_t> rows, Size round) {
  const std::vector<Place> places = takers_of(rows, round);
  if (places.size() < 2) return;
  std::vector<TurnTaker*> takers;
  LockstepSet set{.name = fmt::format("{}/{}", set_prefix_, ++sets_),
                  .labels = {},
                  .seed = std::random_device()(),
                  .available_memory = available_memory,
                  .clock = around_.clock,
                  .show = [&](std::string_view doing, double share) {
                    const std::string phase = fmt::format("{}, {}", round_text(round), doing);
                    // Of the time of a round, starting takes a part.
                    const double begun = doing == kTakingTurns ? 0.5 * (1 + share) : 0.5 * share;
                    tell(phase, begun * static_cast<double>(places.size()));
                    if (around_.show) around_.show(phase, share);
                  }};
  for (const auto [row, side] : places) {
    takers.push_back(cell(row, side).session.get());
    set.labels.push_back(label(row, side, round));
  }
  const LockstepOutcome outcome =
      measure_in_lockstep(takers, plan_of_turns(group, takers.size()), set);
  times_[group].starting = outcome.starting_seconds;
  if (!outcome.impossible.empty()) {
    for (const Place place : places) takes_turns_[place.row] = false;
    return warn_of_no_turns(places.front().row, outcome.impossible);
  }
  for (std::size_t at = 0; at < places.size(); ++at)
    if (outcome.outcomes[at] != TurnsOutcome::idle)
      note(places[at].row, places[at].side, outcome.outcomes[at] == TurnsOutcome::measured);
}

/// In the order in which they begin: drawn, but for rows that need more memory than others, as
/// frameworks do beside ptbench itself.
std::vector<Sweep::Place> Sweep::takers_of(std::span<const std::size_t> rows, Size round) {
  std::vector<Place> takers;
  for (const std::size_t row : rows) {
    if (!may_take_turns(row, round) || !make_ready(row)) continue;
    for (std::size_t side = 0; side < sides_.size(); ++side) takers.push_back({row, side});
  }
  if (stopped()) return {};
  std::ranges::shuffle(takers, std::mt19937_64(std::random_device()()));
  std::ranges::sort(takers, std::ranges::greater(), [this](const Place& place) {
    const StrategyRecord& strategy = rows_[place.row].record.strategy;
    return std::pair(rows_[place.row].starts_program,
                     strategy.world_size * strategy.batch_per_replica.value_or(1));
  });
  return takers;
}

/// Whether every side is to have just this round.
bool Sweep::may_take_turns(std::size_t row, Size round) const {
  if (!takes_turns_[row]) return false;
  for (std::size_t side = 0; side < sides_.size(); ++side)
    if (cell(row, side).is_over || cell(row, side).repetitions != round - 1) return false;
  return true;
}

/// All sides of the row, up to the first that cannot be.
bool Sweep::make_ready(std::size_t row) {
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    if (stopped()) return false;
    if (is_ready(row, side)) continue;
    note(row, side, false);
    return false;
  }
  return true;
}

/// Rows that are compared with each other last as long in turns as they would by themselves. What
/// rounds took beyond their share of the time, mostly to start, is taken from the next one's turns.
LockstepPlan Sweep::plan_of_turns(std::size_t group, std::size_t takers) const {
  LockstepPlan plan = *length_.lockstep;
  if (sides_.size() > 1) return plan;
  const auto rounds = static_cast<double>(length_.rounds);
  const double most = length_.max_time_seconds / rounds;
  const double least = std::min(length_.min_time_seconds / rounds, most);
  plan.rounds =
      std::max(plan.rounds, static_cast<Size>(std::ceil(least / (2 * plan.turn_seconds))));
  const GroupTime& time = times_[group];
  const double share = static_cast<double>(takers) * most;
  const double rest = static_cast<double>(time.rounds + 1) * share - time.spent - time.starting;
  plan.most_seconds = std::clamp(rest, share / 2, share);
  return plan;
}

}  // namespace ptbench
