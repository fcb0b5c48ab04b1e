#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/size.h"
#include "src/process/child_process.h"

namespace ptbench {

/// The ranks of one host that a shell there starts.
struct HostRanks {
  std::string host;
  Size first = 0;  ///< their numbers follow each other
  Size count = 0;
  Size first_local = 0;  ///< the first one's place among the host's ranks
};

/// What every rank of a job is started with.
struct RankStart {
  std::vector<std::string> command;  ///< the program, as each host's shell finds it
  std::string variables;             ///< commands of a shell that set what ranks have in common

  /// As a shell takes it for one command.
  [[nodiscard]] std::string command_line() const;
};

/// Whether a shell ends so where there is no such program.
[[nodiscard]] bool means_no_program(int code);

/// Why a rank counts as failed that ended with `code`, which is a shell's.
[[nodiscard]] Error rank_error(Size rank, const std::string& host, int code,
                               const std::string& program);

/// 32 hexadecimal digits that nobody guesses.
[[nodiscard]] std::string random_word();

/// Ranks of one host, and the shell there that starts them and waits for them: one connection to
/// the host, whose standard input tells them to end when it does. Neither copied nor moved; for one
/// thread.
class HostShell {
 public:
  /// `reach`: a command of the shell that takes a host and a command for it; empty: this host.
  HostShell(const HostRanks& ranks, const RankStart& start, const std::string& reach);
  ~HostShell() = default;
  HostShell(const HostShell&) = delete;
  HostShell& operator=(const HostShell&) = delete;

  /// Whether it still runs, after a look of at most `duration`.
  [[nodiscard]] bool runs(ChildProcess::Duration duration);
  /// Its ranks are asked to end (SIGTERM), and killed where they have not after a minute.
  void end_ranks() { process_.close_input(); }
  /// The connection itself is killed then.
  void end_within(ChildProcess::Duration duration) { process_.end_within(duration); }

  /// Of one of its ranks that failed; empty where none has.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  [[nodiscard]] ChildCommand command_of(const HostRanks& ranks, const RankStart& start,
                                        const std::string& reach);
  [[nodiscard]] Error shell_error(Size rank) const;

  std::string host_;
  std::string program_;
  Size first_;
  std::vector<std::optional<int>> codes_;  ///< of its ranks that have ended
  ChildProcess process_;
  std::optional<ChildExit> ended_;
};

}  // namespace ptbench
