// How much of their time the rows of a sweep have used, and how far it has come.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/sweep.h"
#include "src/base/rough_duration.h"

namespace ptbench {

/// Seconds that the next round of the group will take: as the last ones did, but for the turns, of
/// which half a share is the least.
double Sweep::seconds_of_round(std::size_t group) const {
  const GroupTime& time = times_[group];
  const double usual = time.spent / static_cast<double>(time.rounds);
  const double share = static_cast<double>(groups_[group].size()) * length_.max_time_seconds /
                       static_cast<double>(length_.rounds);
  return std::max(usual - share / 2, usual / 3);
}

/// Whether another round would take longer than the user waits for these rows, and there is to be
/// none. Says so once, also where all rounds are asked for.
bool Sweep::is_out_of_time(std::size_t group, Size round) {
  const GroupTime& time = times_[group];
  const std::vector<std::size_t>& rows = groups_[group];
  if (interrupted_ || sides_.size() > 1 || length_.is_fixed || time.rounds == 0) return false;
  const double all = static_cast<double>(rows.size()) * length_.max_time_seconds;
  if (time.spent + seconds_of_round(group) <= all) return false;
  if (!std::exchange(times_[group].is_over, true)) warn_of_time(group, round);
  if (length_.rounds_are_asked) return false;
  for (const std::size_t row : rows) end_for_time(row);
  return true;
}

/// Before that round.
void Sweep::warn_of_time(std::size_t group, Size round) const {
  const std::vector<std::size_t>& rows = groups_[group];
  const SweepRow& first = rows_[rows.front()];
  const bool is_alone = rows.size() == 1;
  const double usual = times_[group].spent / static_cast<double>(times_[group].rounds);
  const std::string why = fmt::format(
      "a round takes {:.3g} s, starting and warming up included, and --max-time gives {} {:g} s",
      usual, is_alone ? "it" : "each row", length_.max_time_seconds);
  const std::string who =
      is_alone ? fmt::format("row '{}'", first.id())
               : fmt::format("the {} rows of {}", rows.size(), first.record.workload.name);
  const Size left = length_.rounds - round + 1;
  around_.warn(length_.rounds_are_asked
                   ? fmt::format("{} {} about {} longer, past --max-time, for --rounds {}: {}", who,
                                 is_alone ? "takes" : "take",
                                 rough_duration(static_cast<double>(left) * usual), length_.rounds,
                                 why)
                   : fmt::format("{} {} with {} of {} rounds: {}", who, is_alone ? "ends" : "end",
                                 round - 1, length_.rounds, why));
}

void Sweep::end_for_time(std::size_t row) {
  is_cut_[row] = true;
  for (std::size_t side = 0; side < sides_.size(); ++side)
    if (Cell& ended = cell(row, side); ended.record && !ended.is_over)
      ended.record->samples.stop_reason = StopReason::max_time;
}

double Sweep::rounds_done() const {
  double repetitions = 0;
  double cells = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row].is_possible()) continue;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      const Cell& measured = cell(row, side);
      const bool is_done = measured.is_over || is_cut_[row];
      const Size most = std::max(length_.rounds, measured.repetitions);
      repetitions += static_cast<double>(is_done ? most : measured.repetitions);
      ++cells;
    }
  }
  return cells > 0 ? repetitions / cells : static_cast<double>(length_.rounds);
}

/// `more_repetitions`: parts of those that go on.
void Sweep::tell(const std::string& place, double more_repetitions) const {
  if (!around_.reach) return;
  const auto cells = static_cast<double>(std::max<std::ptrdiff_t>(
      1, std::ranges::count_if(rows_, &SweepRow::is_possible) * std::ssize(sides_)));
  around_.reach(rounds_done() + more_repetitions / cells, place);
}

}  // namespace ptbench
