#include "src/session/sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string_view>
#include <utility>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/device/memory.h"
#include "src/judge/environment_differences.h"
#include "src/judge/scaling.h"
#include "src/measure/noise_warnings.h"
#include "src/measure/repetition.h"
#include "src/measure/spread.h"
#include "src/measure/summarize_run.h"
#include "src/session/session_folder.h"

namespace ptbench {
namespace {

/// The earlier result goes on here: what it was measured with should be what measures now.
std::vector<std::string> differences_of(const ResultFile& earlier, const ResultFile& now) {
  std::vector<std::string> differences = environment_differences({&earlier, 1}, {&now, 1});
  const auto commit_of = [](const ResultFile& file) {
    return file.generator.git_commit.value_or("unknown");
  };
  if (commit_of(earlier) != commit_of(now))
    differences.push_back(
        fmt::format("generator.git_commit {} / {}", commit_of(earlier), commit_of(now)));
  return differences;
}

Size repetitions_of(const RunRecord& record) { return std::ssize(record.samples.repetitions); }

// Begins the reason of a row that a sweep left between two of its repetitions.
constexpr std::string_view kAfterRounds = "interrupted by a signal after ";

/// Whether a signal may have cut its last repetition short.
bool may_be_cut(const RunRecord& record) {
  return record.status == Status::interrupted && repetitions_of(record) > 0 &&
         !record.reason.value_or("").starts_with(kAfterRounds);
}

/// The whole repetitions of an earlier record, which a row goes on from. Empty where there are
/// none, and for a failure, which is tried again.
std::optional<RunRecord> whole_part(RunRecord record, const PriorNoise& prior) {
  if (record.status != Status::ok && record.status != Status::interrupted) return std::nullopt;
  if (may_be_cut(record)) {
    keep_repetitions(repetitions_of(record) - 1, record.samples);
    summarize_run(record, prior);
  }
  if (repetitions_of(record) <= 0) return std::nullopt;
  record.status = Status::ok;
  record.reason.reset();
  return record;
}

/// What keeps repetitions of two times from being one run's; empty where nothing is known to.
std::string change_between(const RunRecord& earlier, const RunRecord& now) {
  const std::optional<std::string>& old_plan = earlier.strategy.plan_hash;
  const std::optional<std::string>& new_plan = now.strategy.plan_hash;
  if (old_plan && new_plan && *old_plan != *new_plan)
    return fmt::format("its plan was {}, and is {} now", *old_plan, *new_plan);
  const double old_slowdown = earlier.samples.slowdown.value_or(0);
  const double new_slowdown = now.samples.slowdown.value_or(0);
  if (!now.samples.repetitions.empty() && old_slowdown != new_slowdown)
    return fmt::format("its --slowdown was {}, and is {} now", old_slowdown, new_slowdown);
  return {};
}

/// Launchers bind ranks to cores of their choice.
void fail_if_short_of_threads(const RunRecord& known, RunRecord& measured) {
  const Size wanted = known.strategy.threads.value_or(1);
  const Size given = measured.strategy.threads.value_or(wanted);
  if (measured.status != Status::ok || !measured.strategy.launcher || given == wanted) return;
  measured.status = Status::failed;
  measured.reason = fmt::format(
      "its launcher left each rank the cores for {} threads, and rows here have {}: let it bind to "
      "none or to enough cores, or give --threads {}",
      given, wanted, given);
}

/// A process that ended before it could describe what it measures leaves `known` to do so. Rounds
/// end a row: why its last repetition ended is of no interest, but for one of fixed length.
RunRecord completed(RunRecord measured, const RunRecord& known) {
  if (measured.workload.name.empty()) {
    RunRecord described = known;
    described.status = measured.status;
    described.reason = std::move(measured.reason);
    described.strategy.launcher = std::move(measured.strategy.launcher);
    return described;
  }
  fail_if_short_of_threads(known, measured);
  std::optional<StopReason>& stop = measured.samples.stop_reason;
  if (stop == StopReason::max_time || stop == StopReason::noise) stop.reset();
  return measured;
}

/// Builds are compared row by row, and rows of one build with others of their workload, of which
/// only so many are alive at a time.
std::vector<std::vector<std::size_t>> groups_of(std::span<const SweepRow> rows, std::size_t sides) {
  constexpr std::size_t kMostAlive = 16;
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> places;  // by workload
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].is_possible()) continue;
    const std::string& workload = rows[row].record.workload.name;
    const auto place = places.find(workload);
    if (sides == 1 && place != places.end() && groups[place->second].size() < kMostAlive) {
      groups[place->second].push_back(row);
    } else {
      places.insert_or_assign(workload, groups.size());
      groups.push_back({row});
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
      takes_turns_(rows_.size(), length_.lockstep && !length_.is_fixed),
      set_prefix_(
          fmt::format("{:x}-{:x}", static_cast<std::int64_t>(1e3 * unix_seconds()), getpid())),
      begin_(around.clock.now()) {
  for (std::size_t side = 0; side < sides_.size(); ++side)
    if (sides_[side].earlier) take_earlier(side);
  for (std::size_t row = 0; row < rows_.size(); ++row)
    if (rows_[row].record.data.workers.value_or(0) > 0) keep_from_turns(row);
}

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

Sweep::Cell& Sweep::cell(std::size_t row, std::size_t side) {
  return cells_.at(row * sides_.size() + side);
}

const Sweep::Cell& Sweep::cell(std::size_t row, std::size_t side) const {
  return cells_.at(row * sides_.size() + side);
}

void Sweep::take_earlier(std::size_t side) {
  std::map<std::string, std::size_t> places;
  for (std::size_t row = 0; row < rows_.size(); ++row) places.emplace(rows_[row].id(), row);
  for (RunRecord& record : sides_[side].earlier->runs) {
    const auto place = places.find(record.id);
    if (place == places.end()) {
      if (record.status != Status::skipped) others_[side].push_back(std::move(record));
    } else if (auto whole = whole_part(std::move(record), around_.prior)) {
      if (!is_started_alike(place->second, *whole)) continue;
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
  around_.warn(
      fmt::format("row '{}' begins anew: its ranks were started by '{}', and are by '{}' "
                  "now",
                  rows_[row].id(), then, now));
  return false;
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
  for (const std::vector<std::size_t>& group : groups_) {
    if (round > 1 && around_.clock.now() - begin_ > length_.last_begin_seconds) return;
    std::vector<std::size_t> rows = group;
    if (added) std::erase_if(rows, [this](std::size_t row) { return !needs_more(row); });
    measure_in_turns(rows, round);
    // No side is always the first: what the one leaves behind, heat or cold caches, meets both.
    for (const std::size_t row : rows)
      for (std::size_t turn = 0; turn < sides_.size(); ++turn)
        measure(row, round % 2 == 1 ? turn : sides_.size() - 1 - turn, round);
  }
}

void Sweep::measure(std::size_t row, std::size_t side, Size round) {
  Cell& measured = cell(row, side);
  if (measured.is_over || measured.repetitions >= round || is_lost(row) || stopped()) return;
  const bool ready = is_ready(row, side);
  note(row, side, ready, ready && measured.session->repeat(label(row, side, round)));
}

/// All that are to have just this round and can take turns, alive at the same time. Whoever could
/// not is left to be measured by itself.
void Sweep::measure_in_turns(std::span<const std::size_t> rows, Size round) {
  const std::vector<Place> places = takers_of(rows, round);
  if (places.size() < 2) return;
  std::vector<TurnTaker*> takers;
  LockstepSet set{.name = fmt::format("{}/{}", set_prefix_, ++sets_),
                  .labels = {},
                  .seed = std::random_device()(),
                  .available_memory = available_memory,
                  .clock = around_.clock};
  for (const auto [row, side] : places) {
    takers.push_back(cell(row, side).session.get());
    set.labels.push_back(label(row, side, round));
  }
  const LockstepOutcome outcome = measure_in_lockstep(takers, plan_of_turns(takers.size()), set);
  if (!outcome.impossible.empty()) {
    for (const Place place : places) takes_turns_[place.row] = false;
    return warn_of_no_turns(places.front().row, outcome.impossible);
  }
  for (std::size_t at = 0; at < places.size(); ++at)
    if (outcome.outcomes[at] != TurnsOutcome::idle)
      note(places[at].row, places[at].side, true, outcome.outcomes[at] == TurnsOutcome::measured);
}

/// In the order in which they begin: drawn, but for rows that need more memory than others.
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
    return strategy.world_size * strategy.batch_per_replica.value_or(1);
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
    note(row, side, false, false);
    return false;
  }
  return true;
}

/// Rows that are compared with each other last as long in turns as they would by themselves.
LockstepPlan Sweep::plan_of_turns(std::size_t takers) const {
  LockstepPlan plan = *length_.lockstep;
  if (sides_.size() > 1) return plan;
  const auto rounds = static_cast<double>(length_.rounds);
  const double most = length_.max_time_seconds / rounds;
  const double least = std::min(length_.min_time_seconds / rounds, most);
  plan.rounds =
      std::max(plan.rounds, static_cast<Size>(std::ceil(least / (2 * plan.turn_seconds))));
  plan.most_seconds = static_cast<double>(takers) * most;
  return plan;
}

/// Whether its session has been prepared.
bool Sweep::is_ready(std::size_t row, std::size_t side) {
  return cell(row, side).session != nullptr || start(row, side);
}

/// `done`: another repetition was measured; `ready`: it could be begun.
void Sweep::note(std::size_t row, std::size_t side, bool ready, bool done) {
  Cell& measured = cell(row, side);
  join_earlier(row, side);
  if (done)
    ++measured.repetitions;
  else
    measured.is_over = true;
  measured.record = completed(measured.session->record(), rows_[row].record);
  if (measured.record->status == Status::failed) measured.is_over = true;
  if (!ready) skip_if_refused(row, side);
  warn_of_noise(*measured.record);
  if (measured.record->status == Status::interrupted) interrupted_ = true;
  if (measured.is_over) measured.session.reset();
  save_if_due();
}

void Sweep::warn_of_noise(RunRecord& record) const {
  if (record.samples.repetitions.empty()) return;
  add_noise_warnings(record,
                     {.fixed_length = length_.is_fixed,
                      .cores = record.strategy.threads.value_or(1) * record.strategy.world_size,
                      .max_time_seconds = length_.max_time_seconds,
                      .in_sweep = true,
                      .prior = around_.prior});
}

/// What `compare` will say of them when all has been measured.
void Sweep::warn_of_plans() const {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    std::vector<std::string> plans;
    for (std::size_t side = 0; side < sides_.size(); ++side)
      if (const auto& record = cell(row, side).record; record && record->strategy.plan_hash)
        plans.push_back(*record->strategy.plan_hash);
    if (std::ranges::adjacent_find(plans, std::ranges::not_equal_to()) != plans.end())
      around_.warn(
          fmt::format("row '{}' has another plan in each build ({}): compare gives no "
                      "verdict on it without --ignore-environment",
                      rows_[row].id(), fmt::join(plans, " / ")));
  }
}

bool Sweep::start(std::size_t row, std::size_t side) {
  const bool ready = length_.plan_folder
                         ? prepare_with_shared_plan(row, side)
                         : prepare(row, side, length_.plan_file, length_.extends_plan);
  learn_origin(side, *cell(row, side).session);
  return ready;
}

bool Sweep::prepare(std::size_t row, std::size_t side, const std::optional<std::string>& plan_file,
                    bool extends_plan) {
  Cell& started = cell(row, side);
  const auto rounds = static_cast<double>(length_.rounds);
  const double seconds = length_.max_time_seconds / rounds;
  started.session =
      around_.make_session({.program = sides_[side].program,
                            .arguments = rows_[row].arguments,
                            .first_arguments = {},
                            .plan_file = plan_file,
                            .extends_plan = extends_plan,
                            .launcher = rows_[row].launcher,
                            .id = rows_[row].id(),
                            .longest_stop = length_.longest_stop,
                            .repetition_seconds = seconds,
                            .least_seconds = std::min(length_.min_time_seconds / rounds, seconds)});
  return started.session->prepare();
}

/// Builds that choose for themselves may plan differently, and could not be compared: the first one
/// chooses for all. One that cannot use that chooses its own.
bool Sweep::prepare_with_shared_plan(std::size_t row, std::size_t side) {
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

/// What a directory of data holds is known only to the processes that read it: what they refuse is
/// as impossible as what the grid refuses. A plan of the user's that lacks a row fails it.
void Sweep::skip_if_refused(std::size_t row, std::size_t side) {
  const Cell& measured = cell(row, side);
  const std::optional<Error>& refusal = measured.session->refusal();
  const bool plan_is_fixed = length_.plan_file && !length_.extends_plan;
  if (!refusal || !rows_[row].reads_data || plan_is_fixed || measured.repetitions > 0) return;
  if (!refusal_) refusal_ = refusal;
  RunRecord& record = *cell(row, side).record;
  record.status = Status::skipped;
  record.reason = skip_reason(*refusal);
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
  around_.warn(fmt::format("row '{}' begins anew, without its {} earlier repetitions: {}",
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
  // Those of a launched rank are its launcher's.
  if (session.record().strategy.launcher)
    measured.header.environment.variables = std::move(variables);
  if (!measured.earlier) return;
  const std::vector<std::string> differences = differences_of(*measured.earlier, measured.header);
  if (!differences.empty())
    around_.warn(fmt::format("the sweep goes on where something has changed since it began: {}",
                             fmt::join(differences, "; ")));
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

std::string Sweep::label(std::size_t row, std::size_t side, Size round) const {
  const auto begin = rows_.begin();
  const auto number = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(row) + 1,
                                    [](const SweepRow& one) { return one.is_possible(); });
  const auto count = std::ranges::count_if(rows_, &SweepRow::is_possible);
  std::string text = fmt::format("row {} of {}, round {} of {}", number, count, round,
                                 round > length_.rounds ? length_.most_rounds : length_.rounds);
  if (sides_.size() > 1) text += fmt::format(", build {} of {}", side + 1, sides_.size());
  return fmt::format("{}: {}", text, rows_[row].id());
}

/// Writing takes a twentieth of the time at most: files of long sweeps are large.
void Sweep::save_if_due() {
  const double begin = around_.clock.now();
  if (begin < next_save_) return;
  save_all();
  const double end = around_.clock.now();
  next_save_ = end + std::max(1.0, 20 * (end - begin));
}

void Sweep::save_all() {
  for (std::size_t side = 0; side < sides_.size(); ++side) around_.save(side, result(side));
}

void Sweep::mark_interrupted() {
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      Cell& measured = cell(row, side);
      const bool was_hit = measured.record && measured.record->status == Status::interrupted;
      const bool is_cut =
          measured.record && repetitions_of(*measured.record) > measured.repetitions;
      const bool is_complete = measured.is_over || measured.repetitions >= length_.rounds;
      if (!rows_[row].is_possible() || is_cut || (is_complete && !was_hit)) continue;
      if (!measured.record) measured.record = rows_[row].record;
      measured.record->status = Status::interrupted;
      measured.record->reason =
          fmt::format("{}{} of {} rounds", kAfterRounds, measured.repetitions, length_.rounds);
    }
}

std::optional<ScalingPlan> Sweep::plan_of(std::size_t row, std::size_t side) const {
  std::optional<ScalingPlan> plan = rows_[row].scaling;
  if (plan) plan->in_rounds = cell(row, side).in_rounds;
  return plan;
}

ResultFile Sweep::result(std::size_t side) const {
  ResultFile result = sides_.at(side).header;
  std::vector<std::optional<ScalingPlan>> plans;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::optional<RunRecord>& measured = cell(row, side).record;
    if (!measured && rows_[row].is_possible()) continue;
    result.runs.push_back(measured ? *measured : rows_[row].record);
    plans.push_back(plan_of(row, side));
    add_straggler_warning(result.runs.back());
  }
  add_scaling(result.runs, plans, around_.prior);
  result.runs.insert(result.runs.end(), others_[side].begin(), others_[side].end());
  return result;
}

ExitCode Sweep::exit_code() const {
  if (interrupted_) return ExitCode::interrupted;
  const bool failed = std::ranges::any_of(cells_, [](const Cell& measured) {
    return measured.record && measured.record->status == Status::failed;
  });
  return failed ? ExitCode::failed : ExitCode::ok;
}

std::optional<Error> Sweep::refusal() const {
  const bool any_was_tried = std::ranges::any_of(cells_, [](const Cell& measured) {
    return measured.record && measured.record->status != Status::skipped;
  });
  return any_was_tried ? std::nullopt : refusal_;
}

}  // namespace ptbench
