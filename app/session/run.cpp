#include "app/session/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

#include "app/config/configuration.h"
#include "app/config/run_files.h"
#include "app/config/run_record.h"
#include "app/programs/program_run.h"
#include "app/programs/program_verification.h"
#include "app/session/host_run.h"
#include "app/session/noise_store.h"
#include "app/session/outside_ranks.h"
#include "app/session/rank_launcher.h"
#include "app/session/rank_run.h"
#include "app/session/repeated_run.h"
#include "app/session/repetition_rule.h"
#include "app/training/training_run.h"
#include "reports/json.h"
#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/phase_board.h"
#include "src/device/pressure.h"
#include "src/device/topology.h"
#include "src/measure/device_warnings.h"
#include "src/measure/emulated_run.h"
#include "src/measure/noise_warnings.h"
#include "src/process/interrupt.h"
#include "src/process/output_file.h"
#include "src/process/progress.h"
#include "src/ranks/peer_watch.h"
#include "src/ranks/rank_source.h"

namespace ptbench {
namespace {

ExitCode exit_code_of(Status status) {
  switch (status) {
    case Status::ok:
    case Status::skipped: return ExitCode::ok;
    case Status::failed: return ExitCode::failed;
    case Status::interrupted: return ExitCode::interrupted;
  }
  return ExitCode::defect;
}

/// In this process, or its ranks.
void measure_here(const RunConfig& config, const Topology& topology, const RunSurroundings& around,
                  RunRecord& record) {
  try {
    if (config.program && config.options.orders.pass == RunPass::prepare)
      verify_program(config, around, record);
    else if (config.program)
      measure_program(config, around, record);
    else if (config.needs_ranks())
      measure_on_ranks(config, topology, around, record);
    else
      train_and_measure(config, topology, around, record);
  } catch (const Error& error) {
    if (error.code() != ExitCode::failed) throw;
    record.status = Status::failed;  // a configuration that fails is a record too
    record.reason = reason_of(error);
  }
}

/// What can be said of a run once all of it was measured, in however many processes.
void finish_record(const RunConfig& config, const Topology& topology, const Pressure& pressure,
                   const PriorNoise& prior, RunRecord& record) {
  if (config.options.orders.pass == RunPass::prepare) return;
  if (config.device.is_emulated) {
    leave_out_durations(record);
    return add_device_warnings(record);
  }
  if (config.options.quick) mark_quick(record);
  const auto cores = static_cast<Size>(topology.cores.size());
  add_noise_warnings(record, {.target_noise = RepetitionRule(config.options).target_noise(),
                              .fixed_length = is_one_process(config.options),
                              .cores = std::min<Size>(config.threads * config.options.nproc, cores),
                              .pressure = pressure,
                              .max_time_seconds = config.options.max_time_seconds,
                              .prior = prior});
}

/// Rank 0's, to whoever started it.
void hand_over(const ResultFile& result, RunFiles& files) {
  files.publish_training_files();
  write_standard_output(to_json(result));
}

/// One rank of a run: rank 0's record goes to standard output, where whoever started it reads it. A
/// rank that fails ends with its error, rank 0 after its record, which has warnings that the error
/// has not.
ExitCode be_rank(const RunOptions& options) {
  InterruptWatch interrupt;
  const SteadyClock clock;
  Progress progress(clock, stderr, options.orders.progress_prefix.has_value(),
                    options.orders.progress_prefix.value_or(std::string()));
  const SharedRegion region = SharedRegion::open(*options.orders.region);
  const Topology topology = discover_topology();
  const RunConfig config = configure_run(options, topology);
  RunFiles files(options);
  ResultFile result = begin_result(options.command_line, topology, config.device);
  RunRecord& record = result.runs.emplace_back(begin_record(config, topology));
  try {
    train_and_measure(config, topology,
                      {.clock = clock,
                       .interrupt = interrupt,
                       .progress = progress,
                       .files = files,
                       .region = &region},
                      record);
  } catch (const Error& error) {
    if (config.rank() != 0 || error.code() != ExitCode::failed) throw;
    record.status = Status::failed;
    record.reason = reason_of(error);
    hand_over(result, files);
    throw;
  }
  PhaseBoard(region.phases()).enter(config.rank(), RankPhase::saving);
  if (config.rank() == 0) hand_over(result, files);
  return ExitCode::ok;
}

/// Whether this process measures, or ranks that it starts, and not one process a repetition.
bool is_measured_here(const RunConfig& config) {
  if (!config.options.hosts.slots.empty()) return false;
  return config.program ? config.options.orders.pass != RunPass::all
                        : is_one_process(config.options);
}

/// Measures `config` in this process, or by others, and writes what was asked for. `described`: the
/// machine as the record shows it. `rank`: of those that others started; null: there are none.
ExitCode measure_and_publish(const RunConfig& config, const Topology& topology,
                             const Topology& described, InterruptWatch& interrupt,
                             const OutsideRank* rank,
                             const std::function<void(RunRecord&)>& finish) {
  const RunOptions& options = config.options;
  const SteadyClock clock;
  Progress progress = options.orders.progress_prefix
                          ? Progress(clock, stderr, true, *options.orders.progress_prefix)
                          : Progress(clock);
  RunFiles files(options);
  ResultFile result = begin_result(options.command_line, described, config.device);
  RunRecord& record = result.runs.emplace_back(begin_record(config, described));
  const PriorNoise prior = NoiseStore().load(result.environment.host.name);
  const RunSurroundings around{.clock = clock,
                               .interrupt = interrupt,
                               .progress = progress,
                               .files = files,
                               .region = rank == nullptr ? nullptr : &rank->region,
                               .apart = rank == nullptr ? nullptr : rank->apart.get()};
  const PressureMeter pressure;
  if (is_measured_here(config))
    measure_here(config, topology, around, record);
  else
    measure_by_processes(config, prior, around, record);
  finish_record(config, described, pressure.so_far(), prior, record);
  if (finish) finish(record);
  progress.clear();
  files.publish(result);
  return exit_code_of(record.status);
}

/// A rank whose record nobody reads.
void follow_rank_zero(const OutsideRank& rank, const Topology& topology,
                      InterruptWatch& interrupt) {
  const SteadyClock clock;
  Progress progress(clock, stderr, false);
  RunFiles files(rank.config.options);
  RunRecord record = begin_record(rank.config, rank.all);
  train_and_measure(rank.config, topology,
                    {.clock = clock,
                     .interrupt = interrupt,
                     .progress = progress,
                     .files = files,
                     .region = &rank.region,
                     .apart = rank.apart.get()},
                    record);
}

/// Takes the requests that the watch of the other ranks made after the last question: they are over
/// with it, and would end the process.
class LateRequests {
 public:
  explicit LateRequests(InterruptWatch& interrupt) : interrupt_(interrupt) {}
  ~LateRequests() { (void)interrupt_.requested(); }
  LateRequests(const LateRequests&) = delete;
  LateRequests& operator=(const LateRequests&) = delete;

 private:
  InterruptWatch& interrupt_;
};

std::string cause_of(const GivenUp& by) {
  return fmt::format("rank {} gave up: {}", by.rank, by.reason);
}

/// How an outside rank ends that was asked to, and does not.
void end_at_once(const OutsideRank& rank, const GivenUp& by) {
  if (by.reason == kInterruptedReason) std::_Exit(static_cast<int>(ExitCode::interrupted));
  const Size own = rank.config.rank();
  log_error(fmt::format("rank {}, while {}, had to end: {}", own,
                        name_of(PhaseBoard(rank.region.phases()).phase(own)), cause_of(by)));
  log_note("remedy: find out what happened to that rank");
  std::_Exit(static_cast<int>(ExitCode::failed));
}

/// Names the cause on rank 0: another rank's failure made it leave, and a rank that is stopped has
/// failed the others.
void name_cause(const OutsideRank& rank, const PeerWatch& watch, RunRecord& record) {
  const std::optional<GivenUp> by = rank.region.given_up();
  if (record.status == Status::interrupted && by && by->reason != kInterruptedReason) {
    record.status = Status::failed;
    record.reason = cause_of(*by);
  }
  if (record.status != Status::failed) return;
  if (const auto stopped = watch.stopped_peer())
    record.reason = fmt::format("{}; {}", *stopped, record.reason.value_or(""));
}

/// An outside rank's part of the run.
ExitCode take_part(const OutsideRank& rank, const RankPlace& place, const Topology& topology,
                   InterruptWatch& interrupt, PeerWatch& watch) {
  if (place.rank != 0) {
    follow_rank_zero(rank, topology, interrupt);
    return interrupt.requested() ? ExitCode::interrupted : ExitCode::ok;
  }
  return measure_and_publish(rank.config, topology, rank.all, interrupt, &rank,
                             [&](RunRecord& record) {
                               watch.let_end();
                               name_cause(rank, watch, record);
                               warn_of_one_repetition(rank, place, record);
                             });
}

/// Lets rank 0 end before this one does.
class AfterRankZero {
 public:
  explicit AfterRankZero(PeerWatch& watch) : watch_(watch) {}
  ~AfterRankZero() {
    watch_.let_end();
    watch_.wait_for_rank_zero();
  }
  AfterRankZero(const AfterRankZero&) = delete;
  AfterRankZero& operator=(const AfterRankZero&) = delete;

 private:
  PeerWatch& watch_;
};

/// An outside rank's part of the run, and how it fails.
ExitCode take_part_or_fail(const OutsideRank& rank, PeerLinks links, const RankPlace& place,
                           const Topology& topology, InterruptWatch& interrupt) {
  PeerWatch watch(rank.region, std::move(links), rank.config.options.timeout(),
                  {.leave = [] { (void)kill(getpid(), SIGTERM); },
                   .end = [&rank](const GivenUp& by) { end_at_once(rank, by); }});
  const AfterRankZero last(watch);
  try {
    return take_part(rank, place, topology, interrupt, watch);
  } catch (const std::exception& error) {
    rank.region.give_up(place.rank, error.what());
    const std::optional<GivenUp> first = rank.region.given_up();
    const bool failed_itself = !first || first->rank == place.rank;
    if ((failed_itself && interrupt.requested()) || (first && first->reason == kInterruptedReason))
      return ExitCode::interrupted;
    const auto* failure = dynamic_cast<const Error*>(&error);
    const bool may_be_another = failure != nullptr && failure->code() == ExitCode::failed;
    if (const auto stopped = watch.stopped_peer(); stopped && may_be_another)
      throw run_error(fmt::format("{}; {}", *stopped, error.what()),
                      "give a longer --timeout, or see whether the process was stopped");
    throw;
  }
}

/// What another rank than 0 is refused names it: who started all of them shows what comes first.
Error naming_rank(const Error& refusal, const RankPlace& place) {
  if (place.rank == 0) return refusal;
  return {refusal.code(),
          fmt::format("rank {} on {}: {}", place.rank, printable(host_name()), refusal.what()),
          refusal.remedy()};
}

/// One of several ranks that somebody else started. Rank 0 is the run, as one process is.
ExitCode be_outside_rank(const RunOptions& options, const RankPlace& place) {
  const Topology topology = discover_topology();
  try {
    OutsideRank rank = meet_ranks(options, place, topology);  // a signal ends that as others
    InterruptWatch interrupt;                                 // before any thread is made
    PeerLinks links = std::move(rank.links);
    const LateRequests late(interrupt);
    std::optional<LauncherWatch> launcher;
    if (const int starter = options.orders.launched_by.value_or(place.launcher); starter != 0)
      launcher.emplace(starter);
    return take_part_or_fail(rank, std::move(links), place, topology, interrupt);
  } catch (const Error& error) {
    if (!options.orders.launched_ranks || !is_refusal(error.code())) throw;
    const Error named = naming_rank(error, place);
    leave_refusal(options.outputs.at(0), named);
    throw named;
  }
}

}  // namespace

ExitCode run_command(const RunOptions& options) {
  if (options.orders.region) return be_rank(options);
  const bool starts_processes =
      options.program || options.is_pytorch() || !options.hosts.slots.empty();
  RankPlace place;
  if (!starts_processes && (options.orders.pass == RunPass::all || options.orders.launched_ranks)) {
    place = find_place(options);
    if (place.world_size > 1 || options.orders.launched_ranks)
      return be_outside_rank(options, place);
  }
  InterruptWatch interrupt;  // before any thread is made
  require_possible_repeats(options);
  const Topology topology = discover_topology();
  RunConfig config = configure_run(
      options.hosts.slots.empty() ? options : as_on_hosts(options, topology), topology);
  if (place.source != RankSource::single) tell(config, place, nullptr);
  if (config.program && options.steps) config.options.repeats = 1;
  return measure_and_publish(config, topology, topology, interrupt, nullptr, {});
}

}  // namespace ptbench
