#include "src/doctor/noise_watch.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/rough_duration.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/device/pressure.h"
#include "src/judge/comparison.h"
#include "src/measure/environment.h"
#include "src/measure/noise_warnings.h"
#include "src/session/noise_store.h"
#include "src/session/run_session.h"
#include "src/session/session_tools.h"

namespace ptbench {
namespace {

constexpr double kRepetitionSeconds = 2;

/// The finding of an unusual spread.
Finding no_resolution_of(const SelfCheck& check) {
  return {.name = check.placement,
          .state = "warning",
          .detail = fmt::format("no difference can be detected: the run-to-run spread of {} ({} "
                                "repetitions) is unusual, so comparisons are ambiguous",
                                format_percent(check.standard_deviation), check.repetitions),
          .remedy = "Close other programs, or watch again later."};
}

Finding resolution_of(const SelfCheck& check) {
  if (check.unusual) return no_resolution_of(check);
  return note(
      check.placement, check.resolvable_with_5,
      fmt::format("differences above {:.1f} % can be detected with 5 repetitions a side, "
                  "above {:.1f} % with 3, above {:.1f} % with 10, each with --detect set to "
                  "it (run-to-run spread {}, {} repetitions)",
                  100 * check.resolvable_with_5, 100 * check.resolvable_with_3,
                  100 * check.resolvable_with_10, format_percent(check.standard_deviation),
                  check.repetitions));
}

FindingGroup resolution(const std::vector<SelfCheck>& checks) {
  FindingGroup group{.name = "what a benchmark here can resolve"};
  for (const SelfCheck& check : checks) group.findings.push_back(resolution_of(check));
  if (checks.empty())
    group.findings.push_back({.name = "resolution",
                              .state = "warning",
                              .detail = "fewer than 3 repetitions were clean in any placement",
                              .remedy = "Close other programs, or watch for longer."});
  return group;
}

FindingGroup disturbances(RunRecord& record) {
  FindingGroup group{.name = "what disturbs it"};
  for (const WarningRecord& warning : record.warnings)
    group.findings.push_back({.name = warning.code,
                              .state = "warning",
                              .detail = warning.message,
                              .remedy = warning.remedy});
  if (group.findings.empty()) group.findings.push_back(note("noise", {}, "nothing was seen"));
  return group;
}

void add_usual(const PriorNoise& noise, const std::string& origin, FindingGroup& group) {
  for (const auto& [placement, learnt] : noise.classes())
    group.findings.push_back(note(placement, learnt.standard_deviation,
                                  fmt::format("a run-to-run spread of {} is usual: {}",
                                              format_percent(learnt.standard_deviation), origin)));
}

/// Keeps what is new: a minute of one workload does not replace what the user's own records have
/// taught.
FindingGroup learn_new(const NoiseStore& store, const std::string& host, const PriorNoise& learnt) {
  const PriorNoise known = store.load(host);
  const PriorNoise added = store.unknown(host, learnt);
  const bool saved = !added.classes().empty() && store.save(host, added);
  const std::string file = single_line(store.file().string());
  FindingGroup group{.name = "what later runs and comparisons use"};
  add_usual(known, "known before and kept; compare --self-check learns it again", group);
  add_usual(added,
            saved ? "learnt now, kept in " + file : "learnt now, but there is no place to keep it",
            group);
  return group;
}

FindingGroup interruption(double seconds) {
  return {
      .name = "the watch",
      .findings = {{.name = "end",
                    .state = std::string(name_of(Status::interrupted)),
                    .value = seconds,
                    .detail = fmt::format("after {:.0f} s: this report covers that time", seconds),
                    .remedy = {}}}};
}

Error unwatched(const RunRecord& record, bool interrupted, double seconds) {
  if (interrupted)
    return {ExitCode::interrupted,
            fmt::format("interrupted after {:.0f} s, with nothing measured", seconds)};
  return run_error("the machine could not be watched: " +
                   record.reason.value_or("nothing was measured"));
}

}  // namespace

std::vector<FindingGroup> watch_noise(double seconds) {
  SessionTools tools;
  const Topology topology = discover_topology();
  const std::string host = describe_environment(topology).host.name;
  const NoiseStore store;
  const PriorNoise prior = store.load(host);
  RunSession session({.program = "/proc/self/exe",
                      .arguments = {"--workload=mlp"},
                      .id = "mlp",
                      .repetition_seconds = kRepetitionSeconds,
                      .least_seconds = kRepetitionSeconds / 2},
                     tools.around(prior));
  const PressureWatch pressure;
  const double begin = tools.clock.now();
  tools.whole.begin(fmt::format("watching the machine for {}", rough_duration(seconds)), seconds);
  bool going = session.prepare();
  while (going && tools.clock.now() - begin < seconds) {
    tools.whole.reach((tools.clock.now() - begin) / seconds, "watching");
    going = session.repeat("watching");
  }
  tools.progress.clear();
  ResultFile file;
  file.runs.push_back(session.record());
  RunRecord& record = file.runs.front();
  const double watched = tools.clock.now() - begin;
  const bool interrupted = record.status == Status::interrupted || tools.interrupt.requested();
  if (session.repetitions() == 0) throw unwatched(record, interrupted, watched);
  record.warnings.clear();
  add_noise_warnings(record, {.target_noise = 1,
                              .fixed_length = true,
                              .cores = static_cast<Size>(topology.cores.size()),
                              .pressure = pressure.so_far()});
  const std::vector<SelfCheck> checks = self_check(std::array{file}, {}, prior);
  std::vector<FindingGroup> groups{resolution(checks), disturbances(record)};
  if (FindingGroup learnt = learn_new(store, host, learn(checks)); !learnt.findings.empty())
    groups.push_back(std::move(learnt));
  if (!interrupted) return groups;
  log_warning(fmt::format("interrupted after {:.0f} s", watched));
  groups.insert(groups.begin(), interruption(watched));
  return groups;
}

}  // namespace ptbench
