#include "app/session/session_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/config/run_options.h"
#include "app/session/session_arguments.h"
#include "app/session/session_folder.h"
#include "reports/read_result.h"
#include "src/base/interrupt_signals.h"
#include "src/base/log.h"
#include "src/measure/pool_runs.h"
#include "src/process/child_process.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr int kInterrupted = static_cast<int>(ExitCode::interrupted);

/// What to add to "repetition 3": the way in which it ended.
std::string describe_end(const TaskEnd& ended, const ProcessMessages& messages) {
  if (ended.was_stopped)
    return "was stopped, did not continue within --timeout, and was killed: find out what "
           "stopped it";
  if (ended.overdue) return "was killed: it neither ended nor reported";
  if (ended.signal != 0)
    return fmt::format("was killed by signal {}{}", ended.signal,
                       ended.signal == SIGKILL ? " (out of memory?)" : "");
  const std::string last = messages.last();
  return fmt::format("ended with exit code {}{}{}", ended.code, last.empty() ? "" : ": ", last);
}

/// Whether a message is about what only a session hands to a process.
bool names_own_option(std::string_view message) {
  return std::ranges::any_of(run_option_table().infos(), [message](const OptionInfo& option) {
    return is_of_session(option) && message.find(option.spelling()) != std::string_view::npos;
  });
}

/// The error that a process reported and that its user can mend.
std::optional<Error> refusal_of(const ChildExit& ended, const ProcessMessages& messages) {
  const auto code = static_cast<ExitCode>(ended.code);
  if (!is_refusal(code)) return std::nullopt;
  if (messages.error().empty()) return std::nullopt;
  return Error(code, messages.error(), messages.remedy());
}

std::string interruption(const std::string& task) {
  return fmt::format("stopped by a signal during {}", task);
}

}  // namespace

bool SessionResults::take(const std::string& task, const fs::path& result, const TaskEnd& ended,
                          const ProcessMessages& messages) {
  records_.push_back(record_of(task, result, ended, messages));
  std::error_code ignored;
  fs::remove(result, ignored);
  return records_.back().status == Status::ok;
}

void SessionResults::lose(Status status, std::string reason) {
  records_.push_back(lost(status, std::move(reason)));
}

void SessionResults::lose_to_signal(const std::string& task) {
  lose(Status::interrupted, interruption(task));
}

void SessionResults::refuse(const Error& error) {
  lose(Status::failed, error.what());
  refusal_ = error;
}

void SessionResults::resume(RunRecord earlier) {
  // How that one ended says nothing about what is measured now.
  earlier.status = Status::ok;
  earlier.reason.reset();
  records_.insert(records_.begin(), std::move(earlier));
}

/// A request to end this process alone means the whole run.
bool SessionResults::was_interrupted(const ChildExit& ended) const {
  return around_.interrupt.requested() || is_interrupt_signal(ended.signal);
}

RunRecord SessionResults::record_of(const std::string& task, const fs::path& result,
                                    const TaskEnd& ended, const ProcessMessages& messages) {
  if (setup_.launcher) return record_of_launch(task, result, ended, messages);
  const bool interrupted = was_interrupted(ended);
  std::string problem = describe_end(ended, messages);
  const bool should_tell = ended.code == 0 || ended.code == 2 || ended.code == kInterrupted;
  std::error_code ignored;
  if (should_tell && !interrupted && !fs::exists(result, ignored)) {
    problem = "wrote no result";
    if (setup_.is_foreign())
      return lost(Status::failed, unsuitable(fmt::format("{} {}", task, problem)));
  } else if (should_tell || interrupted) {
    if (auto record = record_in(result, task, interrupted, problem)) return std::move(*record);
  }
  if (interrupted) return lost(Status::interrupted, interruption(task));
  refusal_ = refusal_of(ended, messages);
  if (refusal_ && setup_.is_foreign() && names_own_option(refusal_->what()))
    refusal_ = Error(refusal_->code(), unsuitable(refusal_->what()), "build it again");
  return lost(Status::failed,
              refusal_ ? std::string(refusal_->what()) : fmt::format("{} {}", task, problem));
}

/// Launchers end with codes of their own: what the ranks left tells more, but for ranks that ended
/// because their launcher had.
RunRecord SessionResults::record_of_launch(const std::string& task, const fs::path& result,
                                           const TaskEnd& ended, const ProcessMessages& messages) {
  const bool interrupted = was_interrupted(ended);
  const std::string end = fmt::format("{}: its launcher {}", task, describe_end(ended, messages));
  std::string problem = "left no result";
  if (auto record = record_in(result, task, interrupted, problem)) {
    const bool was_killed =
        ended.signal != 0 || (ended.code > kSignalCodes && ended.code != kInterrupted);
    const bool lost_launcher = record->status == Status::interrupted && !interrupted && was_killed;
    const bool is_told = record->status != Status::ok || ended.code == 0;
    if (is_told && !lost_launcher) return std::move(*record);
    record->status = Status::failed;
    record->reason = end;
    return std::move(*record);
  }
  if (interrupted) return lost(Status::interrupted, interruption(task));
  refusal_ = take_refusal(result);
  if (refusal_) return lost(Status::failed, refusal_->what());
  if (setup_.is_foreign() && names_own_option(messages.error()))
    return lost(Status::failed, unsuitable(messages.error()));
  return lost(Status::failed, ended.code == 0 ? fmt::format("{}, and {}", end, problem) : end);
}

/// What the process wrote; empty, with the `problem`, where that cannot be read.
std::optional<RunRecord> SessionResults::record_in(const fs::path& result, const std::string& task,
                                                   bool interrupted, std::string& problem) {
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

std::string SessionResults::unsuitable(const std::string& sign) const {
  return fmt::format("'{}' is not a ptbench, or too old to be measured with: {}",
                     printable(setup_.program.string()), sign);
}

/// Throws a usage error where there is none.
RunRecord SessionResults::read(const fs::path& result) {
  ResultFile file = read_result_file(result);
  if (file.runs.size() != 1) throw usage_error("it is not one run");
  RunRecord record = std::move(file.runs.front());
  file.runs.clear();
  if (!origin_) origin_ = std::move(file);
  return record;
}

/// The record of a process that left none.
RunRecord SessionResults::lost(Status status, std::string reason) const {
  RunRecord record;
  record.id = records_.empty() ? setup_.id : records_.front().id;
  record.status = status;
  record.reason = std::move(reason);
  return record;
}

/// What repetitions of one plan must share: seed, weights and data give their first step one
/// loss, bit by bit. Says which differ.
std::optional<std::string> SessionResults::different_starts() const {
  const RunRecord* first = nullptr;
  for (const RunRecord& record : records_) {
    const bool is_native = record.engine.name.value_or("native") == "native";
    if (!is_native || !record.loss.first) continue;
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

RunRecord SessionResults::pooled() const {
  RunRecord record = records_.empty() ? lost(Status::ok, {}) : pool_runs(records_, around_.prior);
  if (setup_.launcher) record.strategy.launcher = setup_.launcher->command;
  if (const auto difference = different_starts(); difference && record.status == Status::ok) {
    fail_verification(record, *difference);
  }
  return record;
}

}  // namespace ptbench
