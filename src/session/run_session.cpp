#include "src/session/run_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>

#include "reports/read_result.h"
#include "src/base/interrupt_signals.h"
#include "src/base/log.h"
#include "src/base/units.h"
#include "src/measure/pool_runs.h"
#include "src/measure/step_protocol.h"
#include "src/process/child_process.h"
#include "src/process/process_messages.h"
#include "src/session/session_folder.h"
#include "src/session/session_process.h"
#include "src/training/plan_store.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

// For a preparation that says nothing: choosing operators of large models takes its time.
constexpr ChildProcess::Duration kLongestSilence = std::chrono::minutes(30);
constexpr double kLeastSeconds = 0.001;     // that --max-time takes
constexpr double kWorthwhileSeconds = 0.5;  // of measuring: a slice

constexpr std::string_view kTurns = "--turns";

constexpr int kInterrupted = static_cast<int>(ExitCode::interrupted);

/// One process of a session.
struct Task {
  std::string name;   ///< for messages: "repetition 3"
  std::string label;  ///< before its progress
  std::vector<std::string> arguments;
  std::optional<ChildProcess::Duration> deadline;  ///< since it last said something
};

bool names_option(std::string_view argument, std::string_view option) {
  return argument == option ||
         (argument.starts_with(option) && argument.substr(option.size()).starts_with('='));
}

bool contains_option(const std::vector<std::string>& arguments, std::string_view option) {
  return std::ranges::any_of(
      arguments, [&](const std::string& argument) { return names_option(argument, option); });
}

/// "21.3 k samples/s ± 0.8 %"; empty where nothing is known.
std::string estimate_of(const RunRecord& record) {
  if (!record.throughput.value) return {};
  std::string text = fmt::format("{} samples/s", format_si(*record.throughput.value));
  if (const auto& interval = record.throughput.ci95; interval && *record.throughput.value > 0)
    text += fmt::format(" ± {:.1f} %",
                        50 * (interval->high - interval->low) / *record.throughput.value);
  return text;
}

/// What to add to "repetition 3": the way in which it ended.
std::string describe_end(const TaskEnd& ended, const ProcessMessages& messages) {
  if (ended.was_stopped)
    return "was stopped, and killed as it did not go on within --timeout: see who stopped it";
  if (ended.overdue) return "was killed: it neither ended nor reported";
  if (ended.signal != 0)
    return fmt::format("was killed by signal {}{}", ended.signal,
                       ended.signal == SIGKILL ? " (out of memory?)" : "");
  const std::string last = messages.last();
  return fmt::format("ended with exit code {}{}{}", ended.code, last.empty() ? "" : ": ", last);
}

/// Whether a message is about what only a session hands to a process.
bool names_own_option(std::string_view message) {
  constexpr std::array<std::string_view, 7> kOwn{
      "--pass", "--keep-plan", "--repeats", "--progress-prefix", "--launched-", "--output", kTurns};
  return std::ranges::any_of(kOwn, [message](std::string_view option) {
    return message.find(option) != std::string_view::npos;
  });
}

/// The error that a process reported and that its user can mend.
std::optional<Error> refusal_of(const ChildExit& ended, const ProcessMessages& messages) {
  const auto code = static_cast<ExitCode>(ended.code);
  if (!is_refusal(code)) return std::nullopt;
  if (messages.error().empty()) return std::nullopt;
  return Error(code, messages.error(), messages.remedy());
}

}  // namespace

struct RunSession::State {
  State(SessionSetup wanted, const SessionSurroundings& surroundings)
      : setup(std::move(wanted)), around(surroundings) {}

  [[nodiscard]] std::vector<std::string> arguments_of_preparation() const {
    std::vector<std::string> arguments = setup.arguments;
    arguments.emplace_back("--pass=prepare");
    arguments.push_back(setup.plan_file && !setup.extends_plan
                            ? "--plan=" + *setup.plan_file
                            : "--keep-plan=" + own_plan().string());
    return arguments;
  }

  [[nodiscard]] std::vector<std::string> arguments_of_repetition() const {
    std::vector<std::string> arguments;
    for (const std::string& argument : setup.arguments)
      if (!names_option(argument, "--verify")) arguments.push_back(argument);
    if (repetitions == 0)
      arguments.insert(arguments.end(), setup.first_arguments.begin(), setup.first_arguments.end());
    arguments.emplace_back(repetitions == 0 ? "--pass=first" : "--pass=next");
    arguments.push_back("--plan=" + setup.plan_file.value_or(own_plan().string()));
    arguments.emplace_back("--verify=off");
    if (!is_of_fixed_length()) {
      arguments.push_back(fmt::format("--max-time={}", next_seconds()));
      arguments.push_back(fmt::format("--min-time={}", setup.least_seconds));
    }
    return arguments;
  }

  /// With the choices of this configuration.
  [[nodiscard]] fs::path own_plan() const { return folder.file("plan.json"); }

  /// After the preparation: gives the user's plan file what it lacks. False where that fails.
  bool extend_plan() {
    if (!setup.plan_file || !setup.extends_plan) return true;
    std::error_code ignored;
    if (!fs::exists(own_plan(), ignored)) return true;  // nothing was to be chosen
    try {
      add_to_plan(*setup.plan_file, own_plan().string());
      return true;
    } catch (const Error& error) {
      records.push_back(lost(Status::failed, error.what()));
      refusal = error;
      return false;
    }
  }

  [[nodiscard]] bool is_of_fixed_length() const {
    return contains_option(setup.arguments, "--steps") ||
           contains_option(setup.arguments, "--epochs");
  }

  /// What the next repetition may measure: its share, less what those before it took beyond theirs
  /// to start and to end, but never too little to be worth it.
  [[nodiscard]] double next_seconds() const {
    const double share = setup.repetition_seconds;
    const double rest = static_cast<double>(repetitions + 1) * share - spent_seconds;
    const double least = std::max(share / 2, std::min(share, kWorthwhileSeconds));
    return std::max(std::clamp(rest, least, share), kLeastSeconds);
  }

  [[nodiscard]] std::optional<ChildProcess::Duration> deadline_of_repetition() const {
    if (is_of_fixed_length()) return std::nullopt;
    return std::chrono::ceil<ChildProcess::Duration>(
        std::chrono::duration<double>(10 * setup.repetition_seconds + 600));
  }

  /// With the estimate so far, where anybody sees it.
  [[nodiscard]] std::string label_with_estimate(const std::string& label) const {
    const std::string estimate = around.progress.visible() ? estimate_of(pooled()) : std::string();
    return estimate.empty() ? label : label + ", " + estimate;
  }

  /// Whether the process did all it was to do. The record has what it did.
  bool perform(const Task& task) {
    if (!may_begin(task)) return false;
    SessionProcess process(command_of(task), limits_of(task), around.interrupt, around.progress);
    return finish(task, process, process.wait());
  }

  bool may_begin(const Task& task) {
    if (!around.interrupt.requested()) return true;
    records.push_back(lost(Status::interrupted, interruption(task)));
    return false;
  }

  /// The record has what the process did.
  bool finish(const Task& task, const SessionProcess& process, const TaskEnd& ended) {
    around.progress.clear();
    const fs::path result = result_file();
    records.push_back(record_of(task, result, ended, process.messages()));
    std::error_code ignored;
    fs::remove(result, ignored);
    return records.back().status == Status::ok;
  }

  [[nodiscard]] fs::path result_file() const { return folder.file("result.json"); }

  [[nodiscard]] SessionProcess::Limits limits_of(const Task& task) const {
    return {.silence = task.deadline, .stop = setup.longest_stop};
  }

  [[nodiscard]] Task next_repetition(const std::string& label) const {
    return {.name = fmt::format("repetition {}", repetitions + 1),
            .label = label_with_estimate(label),
            .arguments = arguments_of_repetition(),
            .deadline = deadline_of_repetition()};
  }

  /// What a process refuses that is too old to take turns, or too far away to be granted any.
  [[nodiscard]] bool knows_no_turns(const TaskEnd& ended, const ProcessMessages& messages) const {
    const bool refuses = is_foreign() && ended.code == static_cast<int>(ExitCode::usage);
    const bool reaches_nobody =
        setup.launcher.has_value() && ended.code == static_cast<int>(ExitCode::failed);
    return (refuses || reaches_nobody) && messages.error().find(kTurns) != std::string::npos;
  }

  TurnsBegin begin_turns(const std::string& label) {
    Task task = next_repetition(label);
    stepper.emplace(std::move(task));
    if (!may_begin(stepper->task)) return leave_turns(TurnsBegin::failed);
    stepper->task.arguments.push_back(fmt::format("{}={}", kTurns, stepper->turns.name()));
    stepper->process.emplace(command_of(stepper->task), limits_of(stepper->task), around.interrupt,
                             around.progress);
    std::optional<TaskEnd> ended;
    try {
      ended = stepper->process->wait_for_rest(stepper->turns);
    } catch (const Error&) {  // it speaks otherwise, as a later build may
      return leave_turns(TurnsBegin::impossible);
    }
    if (!ended) return TurnsBegin::ready;
    if (knows_no_turns(*ended, stepper->process->messages()))
      return leave_turns(TurnsBegin::impossible);
    (void)finish(stepper->task, *stepper->process, *ended);
    return leave_turns(TurnsBegin::failed);
  }

  TurnsBegin leave_turns(TurnsBegin how) {
    stepper.reset();
    return how;
  }

  bool take_turn(const Turn& turn) {
    stepper->turns.grant(turn);
    try {
      const auto ended = stepper->process->wait_for_rest(stepper->turns);
      if (!ended) return true;
      (void)finish(stepper->task, *stepper->process, *ended);
    } catch (const Error& broken) {
      records.push_back(
          lost(Status::failed, fmt::format("{}: {}", stepper->task.name, broken.what())));
    }
    stepper.reset();
    return false;
  }

  bool end_turns(const std::string& set) {
    stepper->turns.close();
    const bool done = finish(stepper->task, *stepper->process, stepper->process->wait());
    for (RepetitionRecord& repetition : records.back().samples.repetitions)
      repetition.lockstep = set;
    stepper.reset();
    return done;
  }

  [[nodiscard]] ChildCommand command_of(const Task& task) const {
    std::vector<std::string> arguments{"run"};
    arguments.insert(arguments.end(), task.arguments.begin(), task.arguments.end());
    arguments.emplace_back("--repeats=1");
    arguments.push_back("--output=" + result_file().string());
    if (around.progress.visible() && !stepper)
      arguments.push_back("--progress-prefix=" + task.label);
    if (!setup.launcher) return {.program = setup.program, .arguments = std::move(arguments)};
    return launch(*setup.launcher, setup.program, std::move(arguments));
  }

  /// Who asks this process alone to end means the run.
  [[nodiscard]] bool was_interrupted(const ChildExit& ended) const {
    return around.interrupt.requested() || is_interrupt_signal(ended.signal);
  }

  RunRecord record_of(const Task& task, const fs::path& result, const TaskEnd& ended,
                      const ProcessMessages& messages) {
    if (setup.launcher) return record_of_launch(task, result, ended, messages);
    const bool interrupted = was_interrupted(ended);
    std::string problem = describe_end(ended, messages);
    const bool should_tell = ended.code == 0 || ended.code == 2 || ended.code == kInterrupted;
    std::error_code ignored;
    if (should_tell && !interrupted && !fs::exists(result, ignored)) {
      problem = "wrote no result";
      if (is_foreign())
        return lost(Status::failed, unsuitable(fmt::format("{} {}", task.name, problem)));
    } else if (should_tell || interrupted) {
      if (auto record = record_in(result, task, interrupted, problem)) return std::move(*record);
    }
    if (interrupted) return lost(Status::interrupted, interruption(task));
    refusal = refusal_of(ended, messages);
    if (refusal && is_foreign() && names_own_option(refusal->what()))
      refusal = Error(refusal->code(), unsuitable(refusal->what()), "build it anew");
    return lost(Status::failed,
                refusal ? std::string(refusal->what()) : fmt::format("{} {}", task.name, problem));
  }

  /// Launchers end with codes of their own: what the ranks left tells more.
  RunRecord record_of_launch(const Task& task, const fs::path& result, const TaskEnd& ended,
                             const ProcessMessages& messages) {
    const bool interrupted = was_interrupted(ended);
    const std::string end =
        fmt::format("{}: its launcher {}", task.name, describe_end(ended, messages));
    std::string problem = "left no result";
    if (auto record = record_in(result, task, interrupted, problem)) {
      if (record->status != Status::ok || ended.code == 0) return std::move(*record);
      record->status = Status::failed;
      record->reason = end;
      return std::move(*record);
    }
    if (interrupted) return lost(Status::interrupted, interruption(task));
    refusal = take_refusal(result);
    if (refusal) return lost(Status::failed, refusal->what());
    if (is_foreign() && names_own_option(messages.error()))
      return lost(Status::failed, unsuitable(messages.error()));
    return lost(Status::failed, ended.code == 0 ? fmt::format("{}, and {}", end, problem) : end);
  }

  /// What the process wrote; empty, with the `problem`, where that cannot be read.
  std::optional<RunRecord> record_in(const fs::path& result, const Task& task, bool interrupted,
                                     std::string& problem) {
    std::error_code ignored;
    if (!fs::exists(result, ignored)) return std::nullopt;
    try {
      RunRecord record = read(result);
      if (interrupted && record.status == Status::ok) {
        record.status = Status::interrupted;
        record.reason = interruption(task);
      }
      return record;
    } catch (const Error& error) {
      problem =
          fmt::format("left no result that can be read: {}", without_folder(result, error.what()));
      return std::nullopt;
    }
  }

  /// Whether the program may be something else than this one.
  [[nodiscard]] bool is_foreign() const { return setup.program != "/proc/self/exe"; }

  [[nodiscard]] std::string unsuitable(const std::string& sign) const {
    return fmt::format("'{}' is no ptbench, or too old to be measured with: {}",
                       printable(setup.program.string()), sign);
  }

  /// Throws a usage error where there is none.
  RunRecord read(const fs::path& result) {
    ResultFile file = read_result_file(result);
    if (file.runs.size() != 1) throw usage_error("it is not one run");
    RunRecord record = std::move(file.runs.front());
    file.runs.clear();
    if (!origin) origin = std::move(file);
    return record;
  }

  static std::string interruption(const Task& task) {
    return fmt::format("interrupted by a signal during {}", task.name);
  }

  /// Of a process that left none.
  [[nodiscard]] RunRecord lost(Status status, std::string reason) const {
    RunRecord record;
    record.id = records.empty() ? setup.id : records.front().id;
    record.status = status;
    record.reason = std::move(reason);
    return record;
  }

  /// What repetitions of one plan must share: seed, weights and data give their first step one
  /// loss, bit by bit. Says which differ.
  [[nodiscard]] std::optional<std::string> different_starts() const {
    const RunRecord* first = nullptr;
    for (const RunRecord& record : records) {
      if (!record.loss.first) continue;
      if (first == nullptr) first = &record;
      if (record.strategy.plan_hash != first->strategy.plan_hash) continue;
      if (*record.loss.first != *first->loss.first)
        return fmt::format(
            "repetitions of one plan began with different losses, {} and {}: they do not train the "
            "same",
            *first->loss.first, *record.loss.first);
    }
    return std::nullopt;
  }

  void count_repetition() {
    if (!records.back().samples.step_seconds.empty()) ++repetitions;
  }

  [[nodiscard]] RunRecord pooled() const {
    RunRecord record = records.empty() ? lost(Status::ok, {}) : pool_runs(records, around.prior);
    if (setup.launcher) record.strategy.launcher = setup.launcher->command;
    if (const auto difference = different_starts(); difference && record.status == Status::ok) {
      fail_verification(record, *difference);
    }
    return record;
  }

  SessionSetup setup;
  SessionSurroundings around;
  SessionFolder folder;
  std::vector<RunRecord> records;
  std::optional<ResultFile> origin;
  std::optional<Error> refusal;
  Size repetitions = 0;
  double spent_seconds = 0;  ///< by the processes of repetitions, from start to end
  bool may_repeat = false;
  /// Of the repetition that takes turns.
  struct Stepper {
    explicit Stepper(Task wanted) : task(std::move(wanted)) {}
    Task task;
    TurnGrants turns;
    std::optional<SessionProcess> process;
  };
  std::optional<Stepper> stepper;
};

RunSession::RunSession(SessionSetup setup, const SessionSurroundings& around)
    : state_(std::make_unique<State>(std::move(setup), around)) {}

RunSession::~RunSession() = default;

bool RunSession::prepare() {
  State& state = *state_;
  const bool done = state.perform({.name = "the preparation",
                                   .label = "preparing",
                                   .arguments = state.arguments_of_preparation(),
                                   .deadline = kLongestSilence}) &&
                    state.extend_plan();
  state.may_repeat = done && std::ranges::find(state.setup.arguments, "--verify=only") ==
                                 state.setup.arguments.end();
  return state.may_repeat;
}

bool RunSession::repeat(const std::string& label) {
  State& state = *state_;
  ensure(state.may_repeat, "a session repeats what it has prepared");
  const double begin = state.around.clock.now();
  state.may_repeat = state.perform(state.next_repetition(label));
  state.spent_seconds += state.around.clock.now() - begin;
  state.count_repetition();
  return state.may_repeat;
}

TurnsBegin RunSession::begin_turns(const std::string& label) {
  State& state = *state_;
  ensure(state.may_repeat && !state.stepper, "a session repeats what it has prepared");
  const TurnsBegin begun = state.begin_turns(label);
  if (begun == TurnsBegin::failed) state.may_repeat = false;
  return begun;
}

bool RunSession::take_turn(const Turn& turn) {
  State& state = *state_;
  ensure(state.stepper.has_value(), "turns are taken once they have begun");
  state.may_repeat = state.take_turn(turn);
  if (!state.may_repeat) state.count_repetition();
  return state.may_repeat;
}

bool RunSession::end_turns(const std::string& set) {
  State& state = *state_;
  ensure(state.stepper.has_value(), "turns are taken once they have begun");
  state.may_repeat = state.end_turns(set);
  state.count_repetition();
  return state.may_repeat;
}

void RunSession::abandon_turns() { state_->stepper.reset(); }

Size RunSession::repetitions() const { return state_->repetitions; }

void RunSession::resume(RunRecord earlier) {
  // How that one ended says nothing about what is measured now.
  earlier.status = Status::ok;
  earlier.reason.reset();
  state_->records.insert(state_->records.begin(), std::move(earlier));
}

RunRecord RunSession::record() const { return state_->pooled(); }

const std::optional<ResultFile>& RunSession::origin() const { return state_->origin; }

const std::optional<Error>& RunSession::refusal() const { return state_->refusal; }

}  // namespace ptbench
