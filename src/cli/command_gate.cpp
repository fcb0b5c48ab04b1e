#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "reports/named_files.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/rough_duration.h"
#include "src/cli/command_table.h"
#include "src/compare/compared_files.h"
#include "src/compare/comparison_files.h"
#include "src/compare/gate_options.h"
#include "src/compare/pairs_to_come.h"
#include "src/config/configuration.h"
#include "src/config/run_record.h"
#include "src/device/topology.h"
#include "src/judge/lockstep.h"
#include "src/measure/environment.h"
#include "src/process/interrupt.h"
#include "src/process/progress.h"
#include "src/session/expected_time.h"
#include "src/session/foreign_build.h"
#include "src/session/noise_store.h"
#include "src/session/outside_ranks.h"
#include "src/session/session_folder.h"
#include "src/session/session_tools.h"
#include "src/session/sweep.h"
#include "src/session/sweep_by_processes.h"
#include "src/session/sweep_files.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// BASE and NEW, as sides of a sweep.
constexpr std::size_t kBase = 0;
constexpr std::size_t kNew = 1;
constexpr std::array<const char*, 2> kKeptNames{"base.json", "new.json"};

/// Rounds of whole processes, where there are no turns.
constexpr Size kWholeRounds = 12;

LockstepRule rule_of(const GateOptions& options) {
  return gate_rule(options.judged.comparison.detect, options.max_pairs);
}

/// The paths of the records of both sides; none without --keep.
std::vector<std::string> kept_paths(const GateOptions& options) {
  std::vector<std::string> paths;
  if (options.keep)
    for (const char* const name : kKeptNames)
      paths.push_back((fs::path(*options.keep) / name).string());
  return paths;
}

void refuse_shared_files(const GateOptions& options) {
  std::vector<std::string> paths = kept_paths(options);
  const std::vector<std::string>& reports = options.judged.outputs;
  paths.insert(paths.end(), reports.begin(), reports.end());
  if (options.run.plan_file) paths.push_back(*options.run.plan_file);
  refuse_files_named_twice(paths);
}

/// Where the records of both sides go; nowhere without --keep.
std::vector<SweepFiles> kept_files(const GateOptions& options) {
  std::vector<SweepFiles> files;
  if (!options.keep) return files;
  std::error_code error;
  fs::create_directories(*options.keep, error);
  if (error)
    throw usage_error(fmt::format("--keep: the folder '{}' cannot be made: {}",
                                  printable(*options.keep), error.message()),
                      "name a folder that you may write to");
  for (const std::string& path : kept_paths(options))
    files.emplace_back(std::vector<std::string>{path});
  return files;
}

std::vector<SweepSide> sides_of(const GateOptions& options, const Topology& topology) {
  std::vector<SweepSide> sides;
  if (options.compares_programs()) {
    for (const auto* const command : {&options.base_program, &options.fresh_program})
      sides.push_back({.program = "/proc/self/exe",
                       .header = begin_result(options.command_line, topology),
                       .arguments = {"--program=" + command->value()}});
    return sides;
  }
  for (const auto* const program : {&options.base, &options.fresh}) {
    SweepSide side{.program = fs::absolute(program->value()),
                   .header = begin_result(options.command_line, topology)};
    side.header.generator = unknown_build();
    sides.push_back(std::move(side));
  }
  return sides;
}

/// What both sides measure. Programs are called alike, so that they are compared.
GateOptions with_both_sides(GateOptions options) {
  require_two_sides(options);
  if (options.compares_programs()) {
    const Topology topology = discover_topology();
    options.run.program = options.base_program;
    options.run.assignments = options.measured;
    if (!options.run.name) {
      options.run.name = configure_run(options.run, topology).workload.name;
      options.measured.push_back({"name", *options.run.name});
    }
    RunOptions fresh = options.run;
    fresh.program = options.fresh_program;
    (void)configure_run(fresh, topology);
  } else {
    require_ptbench("base", *options.base);
    require_ptbench("new", *options.fresh);
  }
  return options;
}

/// How a gate tells people how long it is going to take.
struct PairsToCome {
  const Clock& clock;
  Progress& progress;
  InterruptWatch& interrupt;
  double begin = clock.now();
  Size expected = 0;  ///< pairs in all
  Size said_after = 0;
};

/// What is to be expected after a look that has brought no verdict.
void tell_pairs_to_come(const GateOptions& options, const LockstepJudgement& judged,
                        PairsToCome& to_come) {
  if (to_come.interrupt.requested()) return;
  if (std::exchange(to_come.said_after, judged.pairs) == judged.pairs) return;
  const LockstepRule rule = rule_of(options);
  const std::optional<Size> expected = expected_pairs(judged, rule);
  to_come.expected = expected.value_or(*rule.max_pairs);
  const Size more = to_come.expected - judged.pairs;
  const double elapsed = to_come.clock.now() - to_come.begin;
  const double rest = elapsed * static_cast<double>(more) / static_cast<double>(judged.pairs);
  to_come.progress.clear();
  log_note(pairs_to_come_text(judged, rule, rest));
}

/// Whether another pair could still bring a verdict: at the looks, only what is undecided goes on.
bool needs_more_pairs(const GateOptions& options, const PriorNoise& prior, PairsToCome& to_come,
                      std::span<const RunRecord* const> sides) {
  const LockstepRule rule = rule_of(options);
  const auto pairs = lockstep_pairs(sides[kBase]->samples, sides[kNew]->samples);
  const Size count = std::ssize(pairs);
  if (count == 0) return std::ssize(sides[kNew]->samples.repetitions) < kWholeRounds;
  if (count >= *rule.max_pairs) return false;
  const bool is_look = next_look(rule, count - 1) == count;
  if (!is_look) return true;
  const LockstepJudgement judged = judge(pairs, rule, prior);
  if (judged.verdict != Verdict::ambiguous) return false;
  tell_pairs_to_come(options, judged, to_come);
  return true;
}

/// Whoever judges the pairs again has to know how many there might have been.
ResultFile with_plan_of(const GateOptions& options, ResultFile result) {
  const LockstepRule rule = rule_of(options);
  for (RunRecord& run : result.runs) {
    run.samples.max_pairs = rule.max_pairs;
    run.samples.first_look = rule.first_look;
  }
  return result;
}

/// The pairs of both sides; none where a side has no run.
std::vector<LockstepPair> pairs_of(const std::array<ResultFile, 2>& sides) {
  if (sides[kBase].runs.empty() || sides[kNew].runs.empty()) return {};
  return lockstep_pairs(sides[kBase].runs.front().samples, sides[kNew].runs.front().samples);
}

/// Whether the pairs of an interrupted gate had brought their verdict.
bool is_decided(const GateOptions& options, const PriorNoise& prior, PairsToCome& to_come,
                const std::array<ResultFile, 2>& sides) {
  if (pairs_of(sides).empty()) return false;
  const std::array records{&sides[kBase].runs.front(), &sides[kNew].runs.front()};
  return !needs_more_pairs(options, prior, to_come, records);
}

SweepLength length_of(const GateOptions& options, const PriorNoise& prior, PairsToCome& to_come,
                      const SessionFolder& folder) {
  const LockstepRule rule = rule_of(options);
  SweepLength length{.rounds = next_look(rule, 0).value(), .longest_stop = options.run.timeout()};
  length.lockstep = LockstepPlan{.rounds = rule.palindromes};
  length.most_rounds = *rule.max_pairs;
  length.needs_more = [&options, &prior, &to_come](std::span<const RunRecord* const> sides) {
    return needs_more_pairs(options, prior, to_come, sides);
  };
  length.last_begin_seconds = options.max_time_seconds;
  length.plan_file = options.run.plan_file;
  std::error_code ignored;
  length.extends_plan = length.plan_file && !fs::exists(*length.plan_file, ignored);
  if (!length.plan_file) length.plan_folder = folder.path();
  return length;
}

/// What the machine's noise does to pairs, for the gates to come.
void remember(const std::array<ResultFile, 2>& sides, const PriorNoise& known) {
  if (sides[kBase].runs.empty() || sides[kNew].runs.empty()) return;
  const PriorNoise learnt = learn(pairs_of(sides), known);
  if (!learnt.classes().empty())
    (void)NoiseStore().save(sides[kBase].environment.host.name, learnt);
}

/// "interrupted after 7 of up to 14 pairs".
std::string interruption_text(const GateOptions& options, const std::array<ResultFile, 2>& sides) {
  return fmt::format("interrupted after {} of up to {} pairs", pairs_of(sides).size(),
                     *rule_of(options).max_pairs);
}

/// Takes the verdict away from what was not measured to the end: pairs decide at looks that were
/// fixed beforehand, of which this is none.
void leave_undecided(Comparison& comparison, const std::string& id, const std::string& why) {
  if (comparison.runs.empty()) comparison.runs.emplace_back().id = id;
  for (RunComparison& run : comparison.runs) {
    if (run.verdict == Verdict::failed) continue;
    run.verdict = Verdict::ambiguous;
    run.reason = why + ", too early for a verdict";
    run.p_value.reset();
  }
  comparison.tested = 0;
  comparison.expected_false_alarms = 0;
}

/// What an interrupted gate has measured by then, without a verdict.
ExitCode tell_interrupted(const GateOptions& options, const std::string& id,
                          const std::array<ResultFile, 2>& sides, const PriorNoise& prior,
                          ComparisonFiles& files) {
  Comparison comparison = compare(std::span(sides).first(1), std::span(sides).last(1),
                                  options.judged.comparison, prior);
  const std::string why = interruption_text(options, sides);
  leave_undecided(comparison, id, why);
  files.publish({.comparison = comparison,
                 .base = std::span(sides).first(1),
                 .fresh = std::span(sides).last(1)});
  std::vector<std::string> written = options.judged.outputs;
  std::erase(written, "-");
  if (options.keep) written.push_back(*options.keep);
  log_warning(why + (written.empty()
                         ? std::string(": the pairs so far give no verdict")
                         : fmt::format(": what was measured is in {}", fmt::join(written, ", "))));
  print_comparison(comparison, options.judged);
  return ExitCode::interrupted;
}

ExitCode judge_and_tell(const GateOptions& options, const std::array<ResultFile, 2>& sides,
                        const PriorNoise& prior, ComparisonFiles& files) {
  const Comparison comparison = compare(std::span(sides).first(1), std::span(sides).last(1),
                                        options.judged.comparison, prior);
  print_comparison(comparison, options.judged);
  files.publish({.comparison = comparison,
                 .base = std::span(sides).first(1),
                 .fresh = std::span(sides).last(1)});
  return exit_code_of(comparison, options.judged.strict);
}

ExitCode gate_command(const GateOptions& given) {
  refuse_outside_ranks("gate");
  refuse_shared_files(given);
  const GateOptions options = with_both_sides(given);
  ComparisonFiles files(options.judged.outputs);
  std::vector<SweepFiles> kept = kept_files(options);
  SessionTools tools;
  const Topology topology = discover_topology();
  const RunConfig config = configure_run(options.run, topology);
  const PriorNoise prior = NoiseStore().load(describe_environment(topology).host.name);
  const SessionSurroundings session_around = tools.around(prior);
  const SessionFolder folder;
  PairsToCome to_come{
      .clock = tools.clock, .progress = tools.progress, .interrupt = tools.interrupt};
  const SweepLength length = length_of(options, prior, to_come, folder);
  to_come.expected = length.rounds;
  const SweepSurroundings around = sweep_by_processes(
      session_around,
      [&](std::size_t side, const ResultFile& result) {
        if (!kept.empty()) kept.at(side).save(with_plan_of(options, result));
      },
      [&](double pairs) { return pairs / static_cast<double>(to_come.expected); });
  std::vector<SweepRow> rows{sweep_row(config, options.measured)};
  const double seconds = expected_seconds(rows, 2, length);
  Sweep sweep(std::move(rows), sides_of(options, topology), length, around);
  tools.whole.begin(
      fmt::format("{} pairs of processes until the first look, about {}; at most {} pairs",
                  length.rounds, rough_duration(seconds), length.most_rounds),
      seconds);
  sweep.run();
  tools.progress.clear();
  if (const std::optional<Error> refusal = sweep.refusal()) throw Error(*refusal);
  const std::array sides{with_plan_of(options, sweep.result(kBase)),
                         with_plan_of(options, sweep.result(kNew))};
  refuse_emulated_devices(sides);
  if (sweep.exit_code() == ExitCode::interrupted && !is_decided(options, prior, to_come, sides))
    return tell_interrupted(options, config.id, sides, prior, files);
  // Shorter pairs scatter more than those that later gates expect.
  if (rule_of(options).detect >= kSmallChange) remember(sides, prior);
  return judge_and_tell(options, sides, prior, files);
}

}  // namespace

Command make_gate_command() {
  return with_options<GateOptions>(
      {.name = "gate",
       .summary =
           "measure two builds, or programs, in lockstep and judge NEW; the exit code can gate CI",
       .description = "Starts pairs of fresh processes, one of each build, which take turns of 30 "
                      "ms: what slows the machine down for a while slows both. It looks at the "
                      "pairs after 6, 8, 10 and 14 of them, and stops as soon as the verdict is "
                      "sure: same, faster or slower. Where it is still not sure after --max-pairs, "
                      "the verdict is ambiguous. With --detect below 2 %, pairs are shorter, and "
                      "the first look is after 14. The exit codes are those of compare.",
       .examples = {{"ptbench gate --base old/ptbench --new new/ptbench -w mlp",
                     "has a training step become slower by 5 %?"},
                    {"ptbench gate --base old/ptbench --new new/ptbench -w mlp -s ddp -n 2 "
                     "--detect 3% -o gate.md",
                     "a smaller change, on two ranks, for a pull request"},
                    {"ptbench gate --base-program old/train.py --new-program new/train.py",
                     "two versions of your own training script"}},
       .options = {}},
      gate_option_table(), gate_command);
}

}  // namespace ptbench
