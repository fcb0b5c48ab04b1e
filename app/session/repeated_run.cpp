#include "app/session/repeated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "app/config/run_arguments.h"
#include "app/session/expected_time.h"
#include "app/session/host_run.h"
#include "app/session/rank_launcher.h"
#include "app/session/repetition_rule.h"
#include "app/session/run_session.h"
#include "src/base/error.h"
#include "src/base/rough_duration.h"
#include "src/data/source.h"
#include "src/measure/spread.h"
#include "src/process/long_work.h"
#include "src/process/shown_lines.h"

namespace ptbench {
namespace {

/// Repetitions until `rule` has enough. Why measuring ended; empty where something else ended it.
std::optional<StopReason> repeat(RunSession& session, const RepetitionRule& rule,
                                 const PriorNoise& prior, const Clock& clock, LongWork& whole) {
  const double begin = clock.now();
  for (;;) {
    const Size before = session.repetitions();
    whole.reach(rule.share(before, clock.now() - begin), rule.label(before));
    if (!session.repeat(rule.label(before)) || session.repetitions() == before) return std::nullopt;
    const Size done = session.repetitions();
    const bool precise = is_precise_enough(session.record().samples, rule.target_noise(), prior);
    if (!rule.wants_another(done, precise, clock.now() - begin))
      return rule.stop_reason(done, precise);
  }
}

std::optional<RankLauncher> launcher_of(const RunOptions& options) {
  if (options.hosts.slots.empty()) return std::nullopt;
  return launcher_on(options);
}

SessionSetup session_of(const RunConfig& config, const RepetitionRule& rule) {
  RunArguments arguments = pass_on(config.options.assignments);
  return {.program = "/proc/self/exe",  // stays this program, even if its file is replaced
          .arguments = std::move(arguments.common),
          .first_arguments = std::move(arguments.first),
          .plan_file = config.options.plan_file,
          .launcher = launcher_of(config.options),
          .starts_program = config.program.has_value(),
          .needs_preparation = config.needs_preparation(),
          .id = config.id,
          .longest_stop = config.options.timeout(),
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

/// "5 processes, about 10 seconds, up to 30 seconds if steps are noisy".
std::string announcement_of(const RunConfig& config, const RepetitionRule& rule, double seconds) {
  std::string text = fmt::format("{} process{}, about {}", rule.least(),
                                 rule.least() == 1 ? "" : "es", rough_duration(seconds));
  if (rule.adds_more())
    text += fmt::format(", up to {} if steps are noisy",
                        rough_duration(config.options.max_time_seconds));
  if (config.needs_preparation()) text += ", plus the time to choose operators and verify";
  return text;
}

void begin(const RunConfig& config, const RepetitionRule& rule, LongWork& whole) {
  const double seconds = std::min(
      expected_seconds(config, rule.least(), rule.least_seconds(), rule.repetition_seconds()),
      std::max(config.options.max_time_seconds, 0.0));
  whole.begin(announcement_of(config, rule, seconds), seconds);
}

}  // namespace

void measure_by_processes(const RunConfig& config, const PriorNoise& prior,
                          const RunSurroundings& around, RunRecord& record) {
  around.files.leave_training_files();
  // Data that cannot be read are told before how long it takes to train on them.
  if (!config.program && config.synthetic_samples == 0) (void)sample_shape_of(config.options.data);
  const RepetitionRule rule(config.options);
  ShownLines shown;
  LongWork whole(around.clock, {.progress_is_seen = around.progress.visible()});
  const auto session = open_session(session_of(config, rule), {.clock = around.clock,
                                                               .interrupt = around.interrupt,
                                                               .progress = around.progress,
                                                               .prior = prior,
                                                               .whole = &whole,
                                                               .shown = &shown});
  begin(config, rule, whole);
  std::optional<StopReason> reason;
  if (session->prepare()) reason = repeat(*session, rule, prior, around.clock, whole);
  if (session->refusal() && session->repetitions() == 0) throw Error(*session->refusal());
  take_record(session->record(), record);
  if (!config.options.hosts.slots.empty()) tell_hosts(record);
  record.samples.stop_reason = reason;
}

}  // namespace ptbench
