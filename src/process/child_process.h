#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptbench {

/// A program to start, and who gets what it writes: text as it comes, in pieces of any size.
struct ChildCommand {
  std::filesystem::path program;                    ///< a path; not searched for
  std::vector<std::string> arguments;               ///< after the program's own name
  std::function<void(std::string_view)> on_output;  ///< empty: standard output leads nowhere
  std::function<void(std::string_view)> on_errors;  ///< empty: standard error is its owner's
  /// It leads a process group of its own, which signals, the deadline and its owner's end reach as
  /// a whole: its own children are in it, but those that leave it.
  bool leads_group;
  /// It leads a session of its own, out of reach of the terminal's Ctrl-C. Signals reach its
  /// process group; what is left of that when the leader has ended is killed at once.
  bool leads_session;
  std::vector<std::string> environment;  ///< "NAME=value", beside and before the owner's
  std::string input;  ///< what it reads on standard input, 64 KiB at most; empty: nothing
  /// After `input` its standard input goes on, without anything to read, until close_input or the
  /// owner's end.
  bool keeps_input;
  int owner_end_signal = SIGKILL;  ///< that the kernel sends when the owner ends; 0: none
};

/// What a shell ends with where a signal ended a process of its: this, and the signal's number.
inline constexpr int kSignalCodes = 128;

/// How a process ended.
struct ChildExit {
  int code = -1;         ///< -1 if a signal ended it
  int signal = 0;        ///< 0 if it ended by itself
  bool overdue = false;  ///< killed at its deadline
};

/// A process that this one started, owned: it is killed and reaped with its owner, and the kernel
/// kills it (or sends another signal, where the command says so) when the thread that started it
/// ends, in whatever way. It stays in the owner's process group, so that Ctrl-C reaches both,
/// unless it leads its own; its environment is the owner's and what the command adds, no signal is
/// blocked, and standard input is empty unless the command says more. The owner's standard streams
/// must be open. Move-only; for one thread.
class ChildProcess {
 public:
  using Duration = std::chrono::milliseconds;

  /// Throws a usage error where the program cannot be started.
  explicit ChildProcess(ChildCommand command);
  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] int id() const;

  /// Sets its deadline anew, counted from now: `wait` kills it then.
  void end_within(Duration duration);
  /// Calls back with what the process writes until it has ended or `timeout` is over; empty if it
  /// has not ended. Once it has, everything that it wrote was handed over. A group has ended when
  /// its last process has, which gets two minutes after the leader. Comes back earlier where
  /// `also`, a descriptor of the caller's, can be read; negative: none.
  std::optional<ChildExit> wait(Duration timeout, int also = -1);
  /// Its standard input ends, if it does not yet.
  void close_input();
  /// Does nothing to a process that `wait` saw end.
  void send(int signal);
  /// Asks it to end (SIGTERM), kills it if it has not after `grace`, and waits for it.
  ChildExit terminate(Duration grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptbench
