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

class ProcessSession final : public RunSession {
 public:
  ProcessSession(SessionSetup wanted, const SessionSurroundings& surroundings)
      : setup_(std::move(wanted)), around_(surroundings) {}

  bool prepare() override {
    const bool done =
        !setup_.needs_preparation ||
        (setup_.starts_program && setup_.is_foreign()) ||  // older builds measure at once
        (perform({.name = "the preparation",
                  .label = setup_.preparation,
                  .arguments = arguments_of_preparation(setup_, own_plan()),
                  .deadline = kLongestSilence}) &&
         extend_plan());
    may_repeat_ =
        done && std::ranges::find(setup_.arguments, "--verify=only") == setup_.arguments.end();
    return may_repeat_;
  }

  bool repeat(const std::string& label) override {
    ensure(may_repeat_, "a session repeats what it has prepared");
    const double begin = around_.clock.now();
    may_repeat_ = perform(next_repetition(label));
    spent_seconds_ += around_.clock.now() - begin;
    count_repetition();
    return may_repeat_;
  }

  TurnsBegin begin_turns(const std::string& label) override {
    ensure(may_repeat_ && !stepper_, "a session repeats what it has prepared");
    const TurnsBegin begun = begin_stepping(label);
    if (begun == TurnsBegin::failed) may_repeat_ = false;
    return begun;
  }

  bool take_turn(const Turn& turn) override {
    ensure(stepper_.has_value(), "turns are taken once they have begun");
    may_repeat_ = step_by(turn);
    if (!may_repeat_) count_repetition();
    return may_repeat_;
  }

  bool end_turns(const std::string& set) override {
    ensure(stepper_.has_value(), "turns are taken once they have begun");
    may_repeat_ = end_stepping(set);
    count_repetition();
    return may_repeat_;
  }

  void abandon_turns() override { stepper_.reset(); }

  [[nodiscard]] Size repetitions() const override { return repetitions_; }

  void resume(RunRecord earlier) override { results_.resume(std::move(earlier)); }

  [[nodiscard]] RunRecord record() const override { return results_.pooled(); }

  [[nodiscard]] const std::optional<ResultFile>& origin() const override {
    return results_.origin();
  }

  [[nodiscard]] const std::optional<Error>& refusal() const override { return results_.refusal(); }

 private:
  /// One process of a session.
  struct Task {
    std::string name;   ///< for messages: "repetition 3"
    std::string label;  ///< before its progress
    std::vector<std::string> arguments;
    std::optional<ChildProcess::Duration> deadline;  ///< since it last said something
  };

  /// With the choices of this configuration.
  [[nodiscard]] fs::path own_plan() const { return folder_.file("plan.json"); }

  /// After the preparation: gives the user's plan file what it lacks. False where that fails.
  bool extend_plan() {
    if (!setup_.plan_file || !setup_.extends_plan) return true;
    std::error_code ignored;
    if (!fs::exists(own_plan(), ignored)) return true;  // nothing was to be chosen
    try {
      add_to_plan(*setup_.plan_file, own_plan().string());
      return true;
    } catch (const Error& error) {
      results_.refuse(error);
      return false;
    }
  }

  /// What the next repetition may measure: its share, less what those before it took beyond theirs
  /// to start and to end, but never too little to be worth it.
  [[nodiscard]] double next_seconds() const {
    const double share = setup_.repetition_seconds;
    const double rest = static_cast<double>(repetitions_ + 1) * share - spent_seconds_;
    const double least = std::max(share / 2, std::min(share, kWorthwhileSeconds));
    return std::max(std::clamp(rest, least, share), kLeastSeconds);
  }

  [[nodiscard]] std::optional<ChildProcess::Duration> deadline_of_repetition() const {
    if (is_of_fixed_length(setup_)) return std::nullopt;
    return std::chrono::ceil<ChildProcess::Duration>(
        std::chrono::duration<double>(10 * setup_.repetition_seconds + 600));
  }

  /// With the estimate so far, where anybody sees it.
  [[nodiscard]] std::string label_with_estimate(const std::string& label) const {
    const std::string estimate =
        around_.progress.visible() ? estimate_of(results_.pooled()) : std::string();
    return estimate.empty() ? label : label + ", " + estimate;
  }

  /// Behind how far all of the work has come that this is a part of.
  [[nodiscard]] std::string label_in_whole(const std::string& label) const {
    if (around_.whole == nullptr || around_.whole->share() <= 0) return label;
    return around_.whole->text() + ", " + label;
  }

  /// Whether the process did all it was to do. The record has what it did.
  bool perform(const Task& task) {
    if (!may_begin(task)) return false;
    SessionProcess process(command_of(task), limits_of(task), around_);
    return finish(task, process, process.wait());
  }

  bool may_begin(const Task& task) {
    if (!around_.interrupt.requested()) return true;
    results_.lose_to_signal(task.name);
    return false;
  }

  /// The record has what the process did.
  bool finish(const Task& task, const SessionProcess& process, const TaskEnd& ended) {
    around_.progress.clear();
    return results_.take(task.name, result_file(), ended, process.messages());
  }

  [[nodiscard]] fs::path result_file() const { return folder_.file("result.json"); }

  [[nodiscard]] SessionProcess::Limits limits_of(const Task& task) const {
    return {.silence = task.deadline,
            .stop = setup_.longest_stop,
            .starts_program = setup_.starts_program};
  }

  [[nodiscard]] Task next_repetition(const std::string& label) const {
    return {
        .name = fmt::format("repetition {}", repetitions_ + 1),
        .label = label_with_estimate(label),
        .arguments = arguments_of_repetition(setup_, own_plan(), repetitions_ == 0, next_seconds()),
        .deadline = deadline_of_repetition()};
  }

  /// What a process refuses that is too old to take turns, or too far away to be granted any.
  [[nodiscard]] bool knows_no_turns(const TaskEnd& ended, const ProcessMessages& messages) const {
    const bool refuses = setup_.is_foreign() && ended.code == static_cast<int>(ExitCode::usage);
    const bool reaches_nobody =
        setup_.launcher.has_value() && ended.code == static_cast<int>(ExitCode::failed);
    return (refuses || reaches_nobody) && messages.error().find(kTurnsOption) != std::string::npos;
  }

  TurnsBegin begin_stepping(const std::string& label) {
    Task task = next_repetition(label);
    stepper_.emplace(std::move(task));
    if (!may_begin(stepper_->task)) return leave_turns(TurnsBegin::failed);
    stepper_->task.arguments.push_back(fmt::format("{}={}", kTurnsOption, stepper_->turns.name()));
    stepper_->process.emplace(command_of(stepper_->task), limits_of(stepper_->task), around_);
    std::optional<TaskEnd> ended;
    try {
      ended = stepper_->process->wait_for_rest(stepper_->turns);
    } catch (const Error&) {  // it speaks otherwise, as a later build may
      return leave_turns(TurnsBegin::impossible);
    }
    if (!ended) return TurnsBegin::ready;
    if (knows_no_turns(*ended, stepper_->process->messages()))
      return leave_turns(TurnsBegin::impossible);
    (void)finish(stepper_->task, *stepper_->process, *ended);
    return leave_turns(TurnsBegin::failed);
  }

  TurnsBegin leave_turns(TurnsBegin how) {
    stepper_.reset();
    return how;
  }

  bool step_by(const Turn& turn) {
    stepper_->turns.grant(turn);
    try {
      const auto ended = stepper_->process->wait_for_rest(stepper_->turns);
      if (!ended) return true;
      (void)finish(stepper_->task, *stepper_->process, *ended);
    } catch (const Error& broken) {
      results_.lose(Status::failed, fmt::format("{}: {}", stepper_->task.name, broken.what()));
    }
    stepper_.reset();
    return false;
  }

  bool end_stepping(const std::string& set) {
    stepper_->turns.close();
    const bool done = finish(stepper_->task, *stepper_->process, stepper_->process->wait());
    for (RepetitionRecord& repetition : results_.last().samples.repetitions)
      repetition.lockstep = set;
    stepper_.reset();
    return done;
  }

  [[nodiscard]] ChildCommand command_of(const Task& task) const {
    std::vector<std::string> arguments{"run"};
    arguments.insert(arguments.end(), task.arguments.begin(), task.arguments.end());
    arguments.emplace_back("--repeats=1");
    arguments.push_back("--output=" + result_file().string());
    if (around_.progress.visible() && !stepper_)
      arguments.push_back("--progress-prefix=" + label_in_whole(task.label));
    if (setup_.starts_program)
      arguments.push_back("--steps-socket=" +
                          folder_.file(fmt::format("steps-{}", repetitions_ + 1)).string());
    if (!setup_.launcher)
      return {.program = setup_.program,
              .arguments = std::move(arguments),
              // Who started a program ends it first.
              .owner_end_signal = setup_.starts_program ? SIGTERM : SIGKILL};
    return launch(*setup_.launcher, setup_.program, std::move(arguments));
  }

  void count_repetition() {
    if (!results_.last().samples.step_seconds.empty()) ++repetitions_;
  }

  /// The process of the repetition that takes turns.
  struct Stepper {
    explicit Stepper(Task wanted) : task(std::move(wanted)) {}
    Task task;
    TurnGrants turns;
    std::optional<SessionProcess> process;
  };

  SessionSetup setup_;
  SessionSurroundings around_;
  SessionFolder folder_;
  SessionResults results_{setup_, around_};
  Size repetitions_ = 0;
  double spent_seconds_ = 0;  ///< by the processes of repetitions, from start to end
  bool may_repeat_ = false;
  std::optional<Stepper> stepper_;
};

}  // namespace

std::unique_ptr<RunSession> open_session(SessionSetup setup, const SessionSurroundings& around) {
  return std::make_unique<ProcessSession>(std::move(setup), around);
}

}  // namespace ptbench
