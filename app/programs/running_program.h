#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "app/programs/program_output.h"
#include "app/programs/program_server.h"
#include "src/base/size.h"
#include "src/process/child_process.h"
#include "src/process/progress.h"

namespace ptbench {

/// A user's program that trains, with all its processes: started by the shell, listened to, and
/// ended. Whatever of it is there when its owner is done is killed, daemons included: this process
/// becomes the one that gets orphans, and has no other children meanwhile.
class RunningProgram {
 public:
  struct Setup {
    std::string command;  ///< for /bin/sh
    std::string socket;   ///< path at which its processes report
    std::optional<Size> world_size;
    bool is_own = false;  ///< a script of ptbench's, which ends with 5 where something is absent
    std::chrono::milliseconds timeout;  ///< for each word of it, and for its end
    std::function<bool()> interrupted;
  };

  /// Starts it. `progress` outlives it.
  RunningProgram(Setup setup, Progress& progress);
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram();

  /// Waits until all ranks have said hello. Throws a run error where they do not, and Interrupted.
  void await_hellos();
  /// Waits a moment for what its processes say. Throws a run error for a breach of the protocol,
  /// for a program that failed, and for one that has been granted steps and says nothing for too
  /// long.
  void listen();
  /// Whether it does no more steps: it ended, or a process of it has closed its connection.
  [[nodiscard]] bool has_left() const { return ended_.has_value() || server_.was_left(); }
  [[nodiscard]] bool is_interrupted() const { return setup_.interrupted(); }

  [[nodiscard]] ProgramServer& server() { return server_; }

  /// Lets it end. Throws a run error where it fails then; false where it had to be killed.
  [[nodiscard]] bool finish();

 private:
  [[nodiscard]] bool hear(std::chrono::milliseconds moment);
  void require_success() const;
  [[nodiscard]] std::string who_left_first() const;
  [[nodiscard]] std::string how_it_ended() const;
  [[nodiscard]] std::string last_words() const;
  void count_silence(bool heard);

  Setup setup_;
  ProgramServer server_;
  ProgramOutput output_;
  ProgramOutput errors_;
  ChildProcess process_;
  std::optional<ChildExit> ended_;
  std::chrono::steady_clock::time_point last_look_;
  std::chrono::milliseconds silent_{};  ///< without what this process was stopped for
};

}  // namespace ptbench
