#include "src/judge/rounds.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace ptbench {
namespace {

/// What slows a machine down for a while does so for seconds or minutes.
constexpr double kLongestGapSeconds = 600;

struct Turn {
  double started = 0;
  bool is_new = false;
  const RepetitionTime* time = nullptr;
};

void add_turns(std::span<const RepetitionTime> times, bool is_new, std::vector<Turn>& turns) {
  for (const RepetitionTime& time : times)
    if (time.started_unix_seconds)
      turns.push_back({.started = *time.started_unix_seconds, .is_new = is_new, .time = &time});
}

std::optional<Round> round_of(const Turn& one, const Turn& other) {
  const auto& [base, fresh] = one.is_new ? std::pair(other, one) : std::pair(one, other);
  const auto& base_log_time = base.time->log_time;
  const auto& new_log_time = fresh.time->log_time;
  const std::string& placement = base.time->placement;
  if (!base_log_time || !new_log_time || placement != fresh.time->placement) return {};
  if (std::abs(fresh.started - base.started) > kLongestGapSeconds) return {};
  return Round{
      .placement = placement, .base_log_time = *base_log_time, .new_log_time = *new_log_time};
}

}  // namespace

std::vector<Round> rounds_of(std::span<const RepetitionTime> base,
                             std::span<const RepetitionTime> fresh) {
  std::vector<Turn> turns;
  add_turns(base, false, turns);
  add_turns(fresh, true, turns);
  std::ranges::sort(turns, {},
                    [](const Turn& turn) { return std::pair(turn.started, turn.is_new); });
  std::vector<Round> rounds;
  for (std::size_t at = 0; at + 1 < turns.size(); ++at) {
    if (turns[at].is_new == turns[at + 1].is_new) continue;
    if (auto round = round_of(turns[at], turns[at + 1])) rounds.push_back(std::move(*round));
    ++at;  // both are taken, whether they made a round or not
  }
  return rounds;
}

}  // namespace ptbench
