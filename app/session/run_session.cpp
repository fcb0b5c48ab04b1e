#include "app/session/run_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/session/session_arguments.h"
#include "app/session/session_folder.h"
#include "app/session/session_process.h"
#include "app/session/session_results.h"
#include "app/training/plan_store.h"
#include "src/measure/interval_text.h"
#include "src/measure/step_protocol.h"
#include "src/process/child_process.h"
#include "src/process/process_messages.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

// For a preparation that says nothing: choosing operators of large models takes its time.
constexpr ChildProcess::Duration kLongestSilence = std::chrono::minutes(30);
constexpr double kLeastSeconds = 0.001;     // that --max-time takes
constexpr double kWorthwhileSeconds = 0.5;  // of measuring: a slice

/// "21.3 k samples/s ± 0.8 %"; empty where nothing is known.
std::string estimate_of(const RunRecord& record) {
  const ThroughputRecord& throughput = record.throughput;
  if (!throughput.value) return {};
  return rate_with_interval(*throughput.value, throughput.ci95, "samples/s");
}

}  // namespace

struct RunSession::State {
  /// One process of a session.
  struct Task {
    std::string name;   ///< for messages: "repetition 3"
    std::string label;  ///< before its progress
    std::vector<std::string> arguments;
    std::optional<ChildProcess::Duration> deadline;  ///< since it last said something
  };

  State(SessionSetup wanted, const SessionSurroundings& surroundings)
      : setup(std::move(wanted)), around(surroundings) {}

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
      results.refuse(error);
      return false;
    }
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
    if (is_of_fixed_length(setup)) return std::nullopt;
    return std::chrono::ceil<ChildProcess::Duration>(
        std::chrono::duration<double>(10 * setup.repetition_seconds + 600));
  }

  /// With the estimate so far, where anybody sees it.
  [[nodiscard]] std::string label_with_estimate(const std::string& label) const {
    const std::string estimate =
        around.progress.visible() ? estimate_of(results.pooled()) : std::string();
    return estimate.empty() ? label : label + ", " + estimate;
  }

  /// Behind how far all of the work has come that this is a part of.
  [[nodiscard]] std::string label_in_whole(const std::string& label) const {
    if (around.whole == nullptr || around.whole->share() <= 0) return label;
    return around.whole->text() + ", " + label;
  }

  /// Whether the process did all it was to do. The record has what it did.
  bool perform(const Task& task) {
    if (!may_begin(task)) return false;
    SessionProcess process(command_of(task), limits_of(task), around);
    return finish(task, process, process.wait());
  }

  bool may_begin(const Task& task) {
    if (!around.interrupt.requested()) return true;
    results.lose_to_signal(task.name);
    return false;
  }

  /// The record has what the process did.
  bool finish(const Task& task, const SessionProcess& process, const TaskEnd& ended) {
    around.progress.clear();
    return results.take(task.name, result_file(), ended, process.messages());
  }

  [[nodiscard]] fs::path result_file() const { return folder.file("result.json"); }

  [[nodiscard]] SessionProcess::Limits limits_of(const Task& task) const {
    return {.silence = task.deadline,
            .stop = setup.longest_stop,
            .starts_program = setup.starts_program};
  }

  [[nodiscard]] Task next_repetition(const std::string& label) const {
    return {
        .name = fmt::format("repetition {}", repetitions + 1),
        .label = label_with_estimate(label),
        .arguments = arguments_of_repetition(setup, own_plan(), repetitions == 0, next_seconds()),
        .deadline = deadline_of_repetition()};
  }

  /// What a process refuses that is too old to take turns, or too far away to be granted any.
  [[nodiscard]] bool knows_no_turns(const TaskEnd& ended, const ProcessMessages& messages) const {
    const bool refuses = setup.is_foreign() && ended.code == static_cast<int>(ExitCode::usage);
    const bool reaches_nobody =
        setup.launcher.has_value() && ended.code == static_cast<int>(ExitCode::failed);
    return (refuses || reaches_nobody) && messages.error().find(kTurnsOption) != std::string::npos;
  }

  TurnsBegin begin_turns(const std::string& label) {
    Task task = next_repetition(label);
    stepper.emplace(std::move(task));
    if (!may_begin(stepper->task)) return leave_turns(TurnsBegin::failed);
    stepper->task.arguments.push_back(fmt::format("{}={}", kTurnsOption, stepper->turns.name()));
    stepper->process.emplace(command_of(stepper->task), limits_of(stepper->task), around);
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
      results.lose(Status::failed, fmt::format("{}: {}", stepper->task.name, broken.what()));
    }
    stepper.reset();
    return false;
  }

  bool end_turns(const std::string& set) {
    stepper->turns.close();
    const bool done = finish(stepper->task, *stepper->process, stepper->process->wait());
    for (RepetitionRecord& repetition : results.last().samples.repetitions)
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
      arguments.push_back("--progress-prefix=" + label_in_whole(task.label));
    if (setup.starts_program)
      arguments.push_back("--steps-socket=" +
                          folder.file(fmt::format("steps-{}", repetitions + 1)).string());
    if (!setup.launcher)
      return {.program = setup.program,
              .arguments = std::move(arguments),
              // Who started a program ends it first.
              .owner_end_signal = setup.starts_program ? SIGTERM : SIGKILL};
    return launch(*setup.launcher, setup.program, std::move(arguments));
  }

  void count_repetition() {
    if (!results.last().samples.step_seconds.empty()) ++repetitions;
  }

  SessionSetup setup;
  SessionSurroundings around;
  SessionFolder folder;
  SessionResults results{setup, around};
  Size repetitions = 0;
  double spent_seconds = 0;  ///< by the processes of repetitions, from start to end
  bool may_repeat = false;
  /// The process of the repetition that takes turns.
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
  const bool done =
      !state.setup.needs_preparation ||
      (state.setup.starts_program && state.setup.is_foreign()) ||  // older builds measure at once
      (state.perform({.name = "the preparation",
                      .label = state.setup.preparation,
                      .arguments = arguments_of_preparation(state.setup, state.own_plan()),
                      .deadline = kLongestSilence}) &&
       state.extend_plan());
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

void RunSession::resume(RunRecord earlier) { state_->results.resume(std::move(earlier)); }

RunRecord RunSession::record() const { return state_->results.pooled(); }

const std::optional<ResultFile>& RunSession::origin() const { return state_->results.origin(); }

const std::optional<Error>& RunSession::refusal() const { return state_->results.refusal(); }

}  // namespace ptbench
