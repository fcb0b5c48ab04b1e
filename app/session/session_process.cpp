#include "app/session/session_process.h"

#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>

#include "src/process/process_tree.h"

namespace ptbench {
namespace {

constexpr ChildProcess::Duration kInterruptionLook{100};  // between two looks at an interruption
constexpr ChildProcess::Duration kInterruptionGrace =
    std::chrono::minutes(2);  // to save, once interrupted

}  // namespace

SessionProcess::OrphanEnd::OrphanEnd(bool wanted) : is_wanted(wanted) {
  if (!is_wanted) return;
  spared = descendants();
  adopt_orphans();
}

SessionProcess::OrphanEnd::~OrphanEnd() {
  if (is_wanted) end_descendants(TreePart::left_behind, spared);
}

SessionProcess::SessionProcess(ChildCommand command, Limits limits,
                               const SessionSurroundings& around)
    : limits_(limits),
      interrupt_(around.interrupt),
      whole_(around.whole),
      messages_(around.progress, {}, around.shown),
      orphan_end_(limits.starts_program),
      process_([&] {
        command.on_errors = [this](std::string_view text) {
          heard_ = true;
          messages_.take(text);
        };
        return std::move(command);
      }()) {}

TaskEnd SessionProcess::wait() {
  begin_limits();
  for (;;)
    if (const auto ended = look(-1)) return *ended;
}

std::optional<TaskEnd> SessionProcess::wait_for_rest(TurnGrants& turns) {
  begin_limits();
  for (;;) {
    if (const auto ended = look(turns.descriptor())) return ended;
    turns.look();
    if (turns.is_waited_for()) return std::nullopt;
  }
}

/// They are counted from now on.
void SessionProcess::begin_limits() {
  stop_.emplace(limits_.stop);
  if (limits_.silence && !interrupted_) process_.end_within(*limits_.silence);
}

/// Some time of waiting, or until `also` can be read.
std::optional<TaskEnd> SessionProcess::look(int also) {
  if (const auto ended = process_.wait(kInterruptionLook, also)) {
    messages_.finish();
    return TaskEnd{*ended, was_stopped_};
  }
  end_if_stopped();
  if (whole_ != nullptr) whole_->tick();
  if (interrupted_) return std::nullopt;
  if (std::exchange(heard_, false) && limits_.silence) process_.end_within(*limits_.silence);
  if (interrupt_.requested()) pass_on_interrupt();
  return std::nullopt;
}

void SessionProcess::end_if_stopped() {
  if (was_stopped_ || !stop_->is_exceeded_by(process_)) return;
  was_stopped_ = true;
  process_.send(SIGKILL);
}

/// One that came from the terminal has reached the process too; two are one request. SIGINT may be
/// ignored, as shells let jobs in the background do.
void SessionProcess::pass_on_interrupt() {
  interrupted_ = true;
  process_.send(SIGTERM);
  process_.send(SIGCONT);  // one that is stopped could not save anything
  process_.end_within(kInterruptionGrace);
}

}  // namespace ptbench
