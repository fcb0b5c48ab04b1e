#include "src/app/run.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "reports/json.h"
#include "reports/output_file.h"
#include "src/app/configuration.h"
#include "src/app/interrupt.h"
#include "src/app/noise_store.h"
#include "src/app/progress.h"
#include "src/app/rank_run.h"
#include "src/app/repetition_rule.h"
#include "src/app/run_arguments.h"
#include "src/app/run_files.h"
#include "src/app/run_record.h"
#include "src/app/run_session.h"
#include "src/app/training_run.h"
#include "src/base/error.h"
#include "src/device/pressure.h"
#include "src/device/topology.h"
#include "src/measure/noise_warnings.h"
#include "src/measure/spread.h"

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
    if (config.needs_ranks())
      measure_on_ranks(config, topology, around, record);
    else
      train_and_measure(config, topology, around, record);
  } catch (const Error& error) {
    if (error.code() != ExitCode::failed) throw;
    record.status = Status::failed;  // a configuration that fails is a record too
    record.reason = error.what();
  }
}

/// Repetitions until `rule` has enough. Why measuring ended; empty where something else ended it.
std::optional<StopReason> repeat(RunSession& session, const RepetitionRule& rule,
                                 const PriorNoise& prior, const Clock& clock) {
  const double begin = clock.now();
  for (;;) {
    const Size before = session.repetitions();
    if (!session.repeat(rule.label(before)) || session.repetitions() == before) return std::nullopt;
    const Size done = session.repetitions();
    const bool precise = is_precise_enough(session.record().samples, rule.target_noise(), prior);
    if (!rule.wants_another(done, precise, clock.now() - begin))
      return rule.stop_reason(done, precise);
  }
}

SessionSetup session_of(const RunConfig& config, const RepetitionRule& rule) {
  RunArguments arguments = pass_on(config.options.assignments);
  return {.program = "/proc/self/exe",  // stays this program, even if its file is replaced
          .arguments = std::move(arguments.common),
          .first_arguments = std::move(arguments.first),
          .plan_file = config.options.plan_file,
          .id = config.id,
          .repetition_seconds = rule.repetition_seconds(),
          .least_seconds = rule.least_seconds()};
}

/// A process that ended before it could describe what it measures leaves `begun` to do so.
void take_record(RunRecord measured, RunRecord& begun) {
  if (!measured.workload.name.empty()) {
    begun = std::move(measured);
    return;
  }
  begun.status = measured.status;
  begun.reason = std::move(measured.reason);
}

/// By fresh processes. Throws what they were refused before they measured anything.
void measure_by_processes(const RunConfig& config, const PriorNoise& prior,
                          const RunSurroundings& around, RunRecord& record) {
  around.files.leave_training_files();
  const RepetitionRule rule(config.options);
  RunSession session(session_of(config, rule), {.clock = around.clock,
                                                .interrupt = around.interrupt,
                                                .progress = around.progress,
                                                .prior = prior});
  std::optional<StopReason> reason;
  if (session.prepare()) reason = repeat(session, rule, prior, around.clock);
  if (session.refusal() && session.repetitions() == 0) throw Error(*session.refusal());
  take_record(session.record(), record);
  record.samples.stop_reason = reason;
}

/// What can be said of a run once all of it was measured, in however many processes.
void finish_record(const RunConfig& config, const Topology& topology, const Pressure& pressure,
                   RunRecord& record) {
  if (config.options.pass == RunPass::prepare) return;
  const auto cores = static_cast<Size>(topology.cores.size());
  add_noise_warnings(record, {.target_noise = RepetitionRule(config.options).target_noise(),
                              .fixed_length = is_one_process(config.options),
                              .cores = std::min<Size>(config.threads, cores),
                              .pressure = pressure});
}

/// One rank of a run: rank 0's record goes to standard output, where whoever started it reads it. A
/// rank that fails ends with its error.
ExitCode be_rank(const RunOptions& options) {
  InterruptWatch interrupt;
  const SteadyClock clock;
  Progress progress(clock, stderr, false);
  const SharedRegion region = SharedRegion::open(*options.region);
  const Topology topology = discover_topology();
  const RunConfig config = configure_run(options, topology);
  RunFiles files(options);
  ResultFile result = begin_result(options.command_line, topology);
  RunRecord& record = result.runs.emplace_back(begin_record(config, topology));
  train_and_measure(config, topology,
                    {.clock = clock,
                     .interrupt = interrupt,
                     .progress = progress,
                     .files = files,
                     .region = &region},
                    record);
  if (config.rank() != 0) return ExitCode::ok;
  files.publish_training_files();
  write_standard_output(to_json(result));
  return ExitCode::ok;
}

}  // namespace

ExitCode run_command(const RunOptions& options) {
  if (options.region) return be_rank(options);
  InterruptWatch interrupt;  // before any thread is made
  const SteadyClock clock;
  Progress progress = options.progress_prefix
                          ? Progress(clock, stderr, true, *options.progress_prefix)
                          : Progress(clock);
  require_possible_repeats(options);
  const Topology topology = discover_topology();
  const RunConfig config = configure_run(options, topology);
  RunFiles files(options);
  ResultFile result = begin_result(options.command_line, topology);
  RunRecord& record = result.runs.emplace_back(begin_record(config, topology));
  const PriorNoise prior = NoiseStore().load(result.environment.host.name);
  const RunSurroundings around{
      .clock = clock, .interrupt = interrupt, .progress = progress, .files = files};
  const PressureWatch pressure;
  if (is_one_process(options))
    measure_here(config, topology, around, record);
  else
    measure_by_processes(config, prior, around, record);
  finish_record(config, topology, pressure.so_far(), record);
  progress.clear();
  files.publish(result);
  return exit_code_of(record.status);
}

}  // namespace ptbench
