// How the cells of a sweep begin: with which plan, and whether they go on from an earlier result.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/session/session_folder.h"
#include "src/session/sweep.h"
#include "src/session/sweep_records.h"

namespace ptbench {

void Sweep::take_earlier(std::size_t side) {
  std::map<std::string, std::size_t> places;
  for (std::size_t row = 0; row < rows_.size(); ++row) places.emplace(rows_[row].id(), row);
  for (RunRecord& record : sides_[side].earlier->runs) {
    const auto place = places.find(record.id);
    if (place == places.end()) {
      if (record.status != Status::skipped) others_[side].push_back(std::move(record));
    } else if (auto whole = whole_part(std::move(record), around_.prior)) {
      if (!is_started_alike(place->second, *whole) || !is_verified_alike(place->second, *whole))
        continue;
      Cell& known = cell(place->second, side);
      known.repetitions = repetitions_of(*whole);
      known.record = std::move(whole);
      known.has_earlier = true;
      known.in_rounds = false;
    }
  }
  sides_[side].earlier->runs.clear();
}

/// What ranks of another launcher measured is another thing.
bool Sweep::is_started_alike(std::size_t row, const RunRecord& earlier) const {
  const auto& launcher = rows_[row].launcher;
  const std::string now = launcher ? launcher->command : "ptbench";
  const std::string then = earlier.strategy.launcher.value_or("ptbench");
  if (now == then) return true;
  around_.warn(fmt::format("row '{}' starts again: '{}' started its ranks, and now '{}' does",
                           rows_[row].id(), then, now));
  return false;
}

/// What another engine measured uncompared has no ratio, and more repetitions would give it none.
bool Sweep::is_verified_alike(std::size_t row, const RunRecord& earlier) const {
  const bool is_compared = rows_[row].starts_program && rows_[row].needs_preparation;
  if (!is_compared || earlier.verification.status == VerificationStatus::passed) return true;
  around_.warn(fmt::format("row '{}' starts again: its steps had not been compared with ptbench's",
                           rows_[row].id()));
  return false;
}

bool Sweep::start(std::size_t row, std::size_t side) {
  tell("preparing " + place(row, side));
  const double begin = around_.clock.now();
  const bool ready = length_.plan_folder
                         ? prepare_with_shared_plan(row, side)
                         : prepare(row, side, length_.plan_file, length_.extends_plan);
  preparing_ += around_.clock.now() - begin;
  learn_origin(side, *cell(row, side).session);
  return ready;
}

bool Sweep::prepare(std::size_t row, std::size_t side, const std::optional<std::string>& plan_file,
                    bool extends_plan) {
  Cell& started = cell(row, side);
  const auto rounds = static_cast<double>(length_.rounds);
  const double seconds = length_.max_time_seconds / rounds;
  std::vector<std::string> arguments = rows_[row].arguments;
  const std::vector<std::string>& own = sides_[side].arguments;
  arguments.insert(arguments.end(), own.begin(), own.end());
  started.session =
      around_.make_session({.program = sides_[side].program,
                            .arguments = std::move(arguments),
                            .plan_file = plan_file,
                            .extends_plan = extends_plan,
                            .launcher = rows_[row].launcher,
                            .starts_program = rows_[row].starts_program,
                            .needs_preparation = rows_[row].needs_preparation,
                            .id = rows_[row].id(),
                            .preparation = "preparing " + place(row, side),
                            .longest_stop = length_.longest_stop,
                            .repetition_seconds = seconds,
                            .least_seconds = std::min(length_.min_time_seconds / rounds, seconds)});
  return started.session->prepare();
}

/// Builds that choose for themselves may plan differently, and could not be compared: the first one
/// chooses for all. One that cannot use that chooses its own.
bool Sweep::prepare_with_shared_plan(std::size_t row, std::size_t side) {
  if (rows_[row].starts_program) return prepare(row, side, std::nullopt, false);
  const std::filesystem::path file = *length_.plan_folder / fmt::format("row-{}.json", row + 1);
  const bool chooses = !plan_is_chosen_[row];
  if (prepare(row, side, file.string(), chooses)) {
    plan_is_chosen_[row] = true;
    if (chooses) drop_other_plans(row, side);
    return true;
  }
  const std::optional<Error> refusal = cell(row, side).session->refusal();
  if (!refusal || !prepare(row, side, std::nullopt, false)) return false;
  around_.warn(fmt::format("row '{}': build {} of {} shares no plan with others: {}",
                           rows_[row].id(), side + 1, sides_.size(),
                           without_folder(file, refusal->what())));
  return true;
}

/// What other sides measured earlier with another plan than this one has chosen for all.
void Sweep::drop_other_plans(std::size_t row, std::size_t side) {
  const RunRecord chosen = cell(row, side).session->record();
  for (std::size_t other = 0; other < sides_.size(); ++other) {
    Cell& known = cell(row, other);
    if (other == side || known.session || !known.has_earlier) continue;
    const std::string change = change_between(*known.record, chosen);
    if (change.empty()) continue;
    known.has_earlier = false;
    begin_anew(row, other, change);
  }
}

/// What a directory of data holds, what a Python has, and which cores a launcher gives, is known
/// only to the processes that use it: what they refuse is as impossible as what the grid refuses. A
/// plan of the user's that lacks a row fails it.
void Sweep::skip_if_refused(std::size_t row, std::size_t side) {
  const Cell& measured = cell(row, side);
  const std::optional<Error>& refusal = measured.session->refusal();
  const bool plan_is_fixed = length_.plan_file && !length_.extends_plan;
  if (!refusal || plan_is_fixed || measured.repetitions > 0) return;
  const bool only_they_know = rows_[row].reads_data || rows_[row].launcher;
  if (!only_they_know && refusal->code() != ExitCode::capability) return;
  if (!refusal_) refusal_ = refusal;
  RunRecord& record = *cell(row, side).record;
  record.status = Status::skipped;
  record.reason = reason_of(*refusal);
}

/// What was measured now tells whether it belongs to what was measured earlier.
void Sweep::join_earlier(std::size_t row, std::size_t side) {
  Cell& joined = cell(row, side);
  if (!std::exchange(joined.has_earlier, false)) return;
  const std::string change = change_between(*joined.record, joined.session->record());
  if (change.empty()) {
    joined.session->resume(*joined.record);
    return;
  }
  begin_anew(row, side, change);
}

void Sweep::begin_anew(std::size_t row, std::size_t side, const std::string& change) {
  Size& repetitions = cell(row, side).repetitions;
  around_.warn(fmt::format("row '{}' starts again, without its {} earlier repetitions: {}",
                           rows_[row].id(), repetitions, change));
  repetitions = 0;
  begun_anew_ = true;
}

/// The program itself says which build it is.
void Sweep::learn_origin(std::size_t side, const SweepSession& session) {
  if (origin_known_[side] || !session.origin()) return;
  origin_known_[side] = true;
  SweepSide& measured = sides_[side];
  measured.header.generator = session.origin()->generator;
  auto variables = std::move(measured.header.environment.variables);
  measured.header.environment = session.origin()->environment;
  // The variables of a launched rank are its launcher's.
  if (session.record().strategy.launcher)
    measured.header.environment.variables = std::move(variables);
  if (!measured.earlier) return;
  const std::vector<std::string> differences = differences_of(*measured.earlier, measured.header);
  if (!differences.empty())
    around_.warn(
        fmt::format("the sweep continues, although something has changed since it began: {}",
                    fmt::join(differences, "; ")));
}

}  // namespace ptbench
