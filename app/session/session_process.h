#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "app/session/session_setup.h"
#include "src/base/process_state.h"
#include "src/measure/step_protocol.h"
#include "src/process/child_process.h"
#include "src/process/interrupt.h"
#include "src/process/long_work.h"
#include "src/process/process_messages.h"
#include "src/process/pulse.h"

namespace ptbench {

/// Notices that a process was stopped for too long. Time for which this one was stopped as well
/// does not count.
class StopLimit {
 public:
  explicit StopLimit(ChildProcess::Duration longest) : longest_(longest) {}

  /// Asked again and again.
  [[nodiscard]] bool is_exceeded_by(const ChildProcess& process) {
    const auto now = std::chrono::steady_clock::now();
    const auto interval = std::chrono::floor<ChildProcess::Duration>(now - last_look_);
    if (interval < Pulse::kCheckUp) return false;
    last_look_ = now;
    pulse_.feel(process_state(process.id()), 0, interval);
    return pulse_.stopped() >= longest_;
  }

 private:
  ChildProcess::Duration longest_;
  Pulse pulse_;
  std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
};

/// How a process of a session ended.
struct TaskEnd : ChildExit {
  bool was_stopped = false;  ///< and therefore killed
};

/// A process of a session, watched: what it says is passed on, an interruption reaches it, and it
/// is killed when it is silent or stopped for too long. Move-only handles inside; stays in place.
class SessionProcess {
 public:
  struct Limits {
    std::optional<ChildProcess::Duration> silence;  ///< empty: it may be silent for ever
    ChildProcess::Duration stop;                    ///< of one that was stopped (SIGSTOP)
    bool starts_program = false;  ///< what it leaves behind, should it be killed, is killed too
  };

  /// Starts it. What `around` refers to outlives the process. The command's streams are taken.
  SessionProcess(ChildCommand command, Limits limits, const SessionSurroundings& around);
  SessionProcess(const SessionProcess&) = delete;
  SessionProcess& operator=(const SessionProcess&) = delete;
  ~SessionProcess() = default;

  /// Waits for its end.
  [[nodiscard]] TaskEnd wait();
  /// Waits until it sleeps and `turns` has it wait for a turn, or for its end. The time between two
  /// calls, in which others have their turns, counts for no limit.
  [[nodiscard]] std::optional<TaskEnd> wait_for_rest(TurnGrants& turns);

  [[nodiscard]] const ProcessMessages& messages() const { return messages_; }

 private:
  void begin_limits();
  [[nodiscard]] std::optional<TaskEnd> look(int also);
  void end_if_stopped();
  void pass_on_interrupt();

  /// Ends what a process that is gone has left behind. What descended of this one before, as of a
  /// shell that became ptbench, is nobody's orphan.
  struct OrphanEnd {
    explicit OrphanEnd(bool wanted);
    OrphanEnd(const OrphanEnd&) = delete;
    OrphanEnd& operator=(const OrphanEnd&) = delete;
    ~OrphanEnd();
    bool is_wanted;
    std::vector<int> spared;
  };

  Limits limits_;
  InterruptWatch& interrupt_;
  LongWork* whole_;
  ProcessMessages messages_;
  OrphanEnd orphan_end_;  ///< after the process
  ChildProcess process_;
  std::optional<StopLimit> stop_;  ///< of the wait that goes on
  bool heard_ = false;             ///< since the limit of silence was set
  bool interrupted_ = false;
  bool was_stopped_ = false;
};

}  // namespace ptbench
