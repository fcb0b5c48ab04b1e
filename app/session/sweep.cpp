#include "app/session/sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "app/session/sweep_records.h"
#include "src/base/clock.h"
#include "src/measure/spread.h"

namespace ptbench {
namespace {

/// The rows of one workload that have to stay together: a row of the first engine, and those of
/// other engines that are compared with it. Each family is in the place of its first row.
std::vector<std::vector<std::size_t>> families_of(std::span<const SweepRow> rows) {
  std::vector<std::vector<std::size_t>> families;
  std::map<std::string_view, std::size_t> places;  // by the id of the first engine's row
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].is_possible()) continue;
    const std::string& first = rows[row].first_engine;
    const auto [place, is_new] =
        places.emplace(first.empty() ? rows[row].id() : first, families.size());
    if (is_new) families.emplace_back();
    families[place->second].push_back(row);
  }
  return families;
}

/// Builds are compared row by row, and rows of one build with others of their workload; only so
/// many rows are alive at a time.
std::vector<std::vector<std::size_t>> groups_of(std::span<const SweepRow> rows, std::size_t sides) {
  constexpr std::size_t kMostAlive = 16;
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string_view, std::size_t> places;  // by workload
  for (const std::vector<std::size_t>& family : families_of(rows)) {
    if (sides > 1) {
      for (const std::size_t row : family) groups.push_back({row});
      continue;
    }
    const std::string& workload = rows[family.front()].record.workload.name;
    const auto place = places.find(workload);
    if (place != places.end() && groups[place->second].size() + family.size() <= kMostAlive) {
      groups[place->second].insert(groups[place->second].end(), family.begin(), family.end());
    } else {
      places.insert_or_assign(workload, groups.size());
      groups.push_back(family);
    }
  }
  return groups;
}

}  // namespace

Sweep::Sweep(std::vector<SweepRow> rows, std::vector<SweepSide> sides, SweepLength length,
             const SweepSurroundings& around)
    : rows_(std::move(rows)),
      sides_(std::move(sides)),
      origin_known_(sides_.size()),
      length_(std::move(length)),
      around_(around),
      cells_(rows_.size() * sides_.size()),
      others_(sides_.size()),
      plan_is_chosen_(rows_.size()),
      groups_(groups_of(rows_, sides_.size())),
      times_(groups_.size()),
      is_cut_(rows_.size()),
      takes_turns_(rows_.size(), length_.lockstep && !length_.is_fixed),
      set_prefix_(
          fmt::format("{:x}-{:x}", static_cast<std::int64_t>(1e3 * unix_seconds()), getpid())),
      begin_(around.clock.now()) {
  for (std::size_t side = 0; side < sides_.size(); ++side)
    if (sides_[side].earlier) take_earlier(side);
  for (std::size_t row = 0; row < rows_.size(); ++row)
    if (rows_[row].record.data.workers.value_or(0) > 0) keep_from_turns(row);
}

Sweep::Cell& Sweep::cell(std::size_t row, std::size_t side) {
  return cells_.at(row * sides_.size() + side);
}

const Sweep::Cell& Sweep::cell(std::size_t row, std::size_t side) const {
  return cells_.at(row * sides_.size() + side);
}

void Sweep::run() {
  do {
    begun_anew_ = false;
    for (Size round = 1; round <= length_.rounds; ++round) run_round(round, false);
    if (begun_anew_ || sides_.size() == 1) continue;
    for (Size round = length_.rounds + 1; round <= length_.most_rounds; ++round)
      run_round(round, true);
  } while (begun_anew_);
  if (interrupted_) mark_interrupted();
  save_all();
  warn_of_plans();
}

void Sweep::run_round(Size round, bool added) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (round > 1 && around_.clock.now() - begin_ > length_.last_begin_seconds) return;
    std::vector<std::size_t> rows = groups_[group];
    if (added) std::erase_if(rows, [this](std::size_t row) { return !needs_more(row); });
    if (!is_out_of_time(group, round)) measure_group(group, rows, round);
  }
}

void Sweep::measure_group(std::size_t group, std::span<const std::size_t> rows, Size round) {
  const double begin = around_.clock.now();
  const double before = rounds_done();
  preparing_ = 0;
  measure_in_turns(group, rows, round);
  // No side is always the first: what the one leaves behind, heat or cold caches, meets both.
  for (const std::size_t row : rows)
    for (std::size_t turn = 0; turn < sides_.size(); ++turn)
      measure(row, round % 2 == 1 ? turn : sides_.size() - 1 - turn, round);
  if (rounds_done() == before) return;  // earlier files had this round already
  times_[group].spent += around_.clock.now() - begin - preparing_;
  ++times_[group].rounds;
}

void Sweep::measure(std::size_t row, std::size_t side, Size round) {
  Cell& measured = cell(row, side);
  if (measured.is_over || measured.repetitions >= round || is_lost(row) || stopped()) return;
  const bool ready = is_ready(row, side);
  if (ready) tell(fmt::format("{}, {}", place(row, side), round_text(round)));
  note(row, side, ready && measured.session->repeat(label(row, side, round)));
}

/// Whether its session has been prepared.
bool Sweep::is_ready(std::size_t row, std::size_t side) {
  return cell(row, side).session != nullptr || start(row, side);
}

/// `done`: another repetition was measured.
void Sweep::note(std::size_t row, std::size_t side, bool done) {
  Cell& measured = cell(row, side);
  join_earlier(row, side);
  if (done)
    ++measured.repetitions;
  else
    measured.is_over = true;
  measured.record = completed(measured.session->record(), rows_[row].record);
  if (measured.record->status == Status::failed) measured.is_over = true;
  if (!done) skip_if_refused(row, side);
  warn_of_noise(*measured.record);
  if (measured.record->status == Status::interrupted) interrupted_ = true;
  if (measured.is_over) measured.session.reset();
  save_if_due();
}

bool Sweep::stopped() {
  interrupted_ = interrupted_ || around_.interrupted();
  return interrupted_;
}

bool Sweep::needs_more(std::size_t row) const {
  if (!length_.needs_more) return lacks_clean_repetitions(row);
  std::vector<const RunRecord*> records;
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    const Cell& measured = cell(row, side);
    if (measured.is_over || !measured.record) return false;
    records.push_back(&*measured.record);
  }
  return length_.needs_more(records);
}

/// Whether a side has ended of those that are only measured to be compared with each other.
bool Sweep::is_lost(std::size_t row) const {
  if (!length_.needs_more) return false;
  for (std::size_t side = 0; side < sides_.size(); ++side)
    if (cell(row, side).is_over) return true;
  return false;
}

/// Whether another round could bring a class in which every side has enough.
bool Sweep::lacks_clean_repetitions(std::size_t row) const {
  std::map<std::string, std::size_t> sides_with_enough;
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    const Cell& measured = cell(row, side);
    const bool has_slices = measured.record && !measured.record->samples.slices.empty();
    if (measured.is_over || !has_slices) return false;
    for (const auto& [placement, times] : clean_log_times(measured.record->samples))
      if (times.size() >= kCleanRepetitions) ++sides_with_enough[placement];
  }
  return std::ranges::none_of(sides_with_enough,
                              [this](const auto& entry) { return entry.second == sides_.size(); });
}

std::string Sweep::round_text(Size round) const {
  return fmt::format("round {} of {}", round,
                     round > length_.rounds ? length_.most_rounds : length_.rounds);
}

std::string Sweep::place(std::size_t row, std::size_t side) const {
  const auto begin = rows_.begin();
  const auto number = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(row) + 1,
                                    [](const SweepRow& one) { return one.is_possible(); });
  const auto count = std::ranges::count_if(rows_, &SweepRow::is_possible);
  std::string text = fmt::format("row {} of {}", number, count);
  if (sides_.size() > 1) text += fmt::format(", build {} of {}", side + 1, sides_.size());
  return text;
}

std::string Sweep::label(std::size_t row, std::size_t side, Size round) const {
  return fmt::format("{}, {}: {}", place(row, side), round_text(round), rows_[row].id());
}

}  // namespace ptbench
