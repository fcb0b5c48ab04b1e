#include "src/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/pinning_variables.h"
#include "src/process/descriptor.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;

// Between two looks at a process whose end the kernel does not announce.
constexpr ChildProcess::Duration kPause{20};
// For a program to start. A program that takes longer, because it is stopped for instance, counts
// as started: its caller has a deadline of its own.
constexpr ChildProcess::Duration kLongestStart{2000};
constexpr std::size_t kPiece = 4096;  // bytes that are read at once
// For the rest of a group once its leader has ended.
constexpr ChildProcess::Duration kFarewell = std::chrono::minutes(2);
// More than a pipe holds: who else writes into it is not read for ever.
constexpr int kMostPieces = 64;

Error cannot_start(const std::filesystem::path& program, int error_number,
                   const std::string& remedy) {
  return usage_error(fmt::format("'{}' cannot be started: {}", printable(program.string()),
                                 std::generic_category().message(error_number)),
                     remedy);
}

/// No descriptor of this process gets into another program but as one of its standard streams.
struct Pipe {
  explicit Pipe(const std::filesystem::path& program) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw cannot_start(program, errno, "check the limit of open files (ulimit -n)");
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  Descriptor read;
  Descriptor write;
};

/// A pipe that holds `text`, all of it, for who reads it later.
Pipe filled_pipe(const std::filesystem::path& program, std::string_view text) {
  Pipe pipe(program);
  if (fcntl(pipe.write.number(), F_SETFL, O_NONBLOCK) != 0 ||
      write(pipe.write.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw cannot_start(program, E2BIG, "give it fewer arguments, or shorter ones");
  return pipe;
}

/// What the new process needs between fork and exec, made before: only functions that are safe in a
/// signal handler may be called there.
struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  pid_t parent;
  int input;
  int output;
  int errors;   ///< -1: stays as it is
  int failure;  ///< gets errno if the program does not start
  bool leads_group;
  bool leads_session;
  int owner_end_signal;
};

bool take_streams(const Start& start) {
  return dup2(start.input, STDIN_FILENO) >= 0 && dup2(start.output, STDOUT_FILENO) >= 0 &&
         (start.errors < 0 || dup2(start.errors, STDERR_FILENO) >= 0);
}

[[noreturn]] void become(const Start& start) noexcept {
  // Who died before it could be watched leaves another parent.
  if (prctl(PR_SET_PDEATHSIG, start.owner_end_signal) == 0 && getppid() != start.parent) _exit(127);
  if (start.leads_session)
    (void)setsid();
  else if (start.leads_group)
    (void)setpgid(0, 0);
  if (take_streams(start)) {
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, nullptr);
    if (start.leads_session) (void)std::signal(SIGPIPE, SIG_DFL);  // the owner may ignore it
    (void)execve(start.program, start.arguments, start.environment);
  }
  const int error_number = errno;
  (void)!write(start.failure, &error_number, sizeof error_number);
  _exit(127);
}

pollfd watched(int descriptor) { return {.fd = descriptor, .events = POLLIN, .revents = 0}; }

pollfd watched(const Descriptor& descriptor) { return watched(descriptor.number()); }

/// errno of the exec that failed, 0 of one that worked: then the kernel closed the pipe.
int failure_in(const Descriptor& pipe) {
  const auto end = steady_clock::now() + kLongestStart;
  pollfd event = watched(pipe);
  for (;;) {
    const auto rest = std::chrono::ceil<ChildProcess::Duration>(end - steady_clock::now());
    if (rest <= ChildProcess::Duration(0)) return 0;
    if (poll(&event, 1, static_cast<int>(rest.count())) > 0) break;
  }
  int error_number = 0;
  while (read(pipe.number(), &error_number, sizeof error_number) < 0 && errno == EINTR) {
  }
  return error_number;
}

pid_t wait_for(pid_t id, int& status, int options) {
  for (;;) {
    const pid_t ended = waitpid(id, &status, options);
    if (ended >= 0 || errno != EINTR) return ended;
  }
}

/// Where SIGCHLD is ignored, which a process inherits, nobody learns how a child ended.
void keep_exit_codes() {
  struct sigaction action{};
  if (sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
    (void)std::signal(SIGCHLD, SIG_DFL);
}

/// What is added comes first, and what it names anew is left out of the owner's environment. What
/// the owner hides from itself is added under its own name.
std::vector<char*> environment_with(std::vector<std::string>& added) {
  for (char** inherited = environ; *inherited != nullptr; ++inherited)
    if (const std::string_view name = hidden_pinning_variable(*inherited); !name.empty())
      added.push_back(std::string(name) + std::string(*inherited + name.size()));
  std::vector<char*> pointers;
  for (std::string& variable : added) pointers.push_back(variable.data());
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const std::string_view variable(*inherited);
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    if (hidden_pinning_variable(variable).empty() &&
        std::ranges::none_of(added, [name](const auto& one) { return one.starts_with(name); }))
      pointers.push_back(*inherited);
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// The program's name and its arguments, as exec wants them.
std::vector<char*> pointers_to(std::string& program, std::vector<std::string>& arguments) {
  std::vector<char*> pointers{program.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

struct ChildProcess::State {
  explicit State(ChildCommand started) : command(std::move(started)) { start(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (ended) return;
    signal(SIGKILL);
    int status = 0;
    if (!leader) (void)wait_for(id, status, 0);
  }

  void start() {
    keep_exit_codes();
    std::string program = command.program.string();
    const std::vector<char*> pointers = pointers_to(program, command.arguments);
    const std::vector<char*> environment = environment_with(command.environment);
    Pipe output_pipe(command.program);
    Pipe errors_pipe(command.program);
    Pipe failure_pipe(command.program);
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!nothing.is_open())
      throw cannot_start(command.program, errno, "check the limit of open files (ulimit -n)");
    std::optional<Pipe> given;
    if (!command.input.empty()) given = filled_pipe(command.program, command.input);
    const Start start{.program = program.c_str(),
                      .arguments = pointers.data(),
                      .environment = environment.data(),
                      .parent = getpid(),
                      .input = given ? given->read.number() : nothing.number(),
                      .output = command.on_output ? output_pipe.write.number() : nothing.number(),
                      .errors = command.on_errors ? errors_pipe.write.number() : -1,
                      .failure = failure_pipe.write.number(),
                      .leads_group = command.leads_group,
                      .leads_session = command.leads_session,
                      .owner_end_signal = command.owner_end_signal};
    id = fork();
    if (id == 0) become(start);
    if (id < 0)
      throw cannot_start(command.program, errno,
                         "check free memory and the limit of processes (ulimit -u)");
    // Whoever of the two comes first: there is a group when this goes on.
    if (command.leads_group) (void)setpgid(id, id);
    failure_pipe.write.close();
    if (given && command.keeps_input) input = std::move(given->write);
    if (command.on_output) output = std::move(output_pipe.read);
    if (command.on_errors) errors = std::move(errors_pipe.read);
    if (const int error_number = failure_in(failure_pipe.read); error_number != 0) {
      int status = 0;
      (void)wait_for(id, status, 0);
      throw cannot_start(command.program, error_number, "name a program that may be run");
    }
    watch = watch_process(id);
  }

  /// What lies in the pipe now; closes it at its end.
  static void read_from(Descriptor& pipe, const std::function<void(std::string_view)>& reader) {
    std::array<char, kPiece> text{};
    const ssize_t size = read(pipe.number(), text.data(), text.size());
    if (size > 0)
      reader({text.data(), static_cast<std::size_t>(size)});
    else if (size == 0 || errno != EINTR)
      pipe.close();
  }

  struct Pumped {
    bool text = false;  ///< there was some
    bool also = false;  ///< the caller's descriptor can be read
  };

  /// Waits for text, the end of the process, or the caller's descriptor, at most for `pause`.
  Pumped pump(Duration pause, int also = -1) {
    std::array<pollfd, 4> events{watched(output), watched(errors), watched(watch), watched(also)};
    if (poll(events.data(), events.size(), static_cast<int>(pause.count())) <= 0) return {};
    if (events[0].revents != 0) read_from(output, command.on_output);
    if (events[1].revents != 0) read_from(errors, command.on_errors);
    return {.text = events[0].revents != 0 || events[1].revents != 0,
            .also = events[3].revents != 0};
  }

  [[nodiscard]] bool leads_others() const { return command.leads_group || command.leads_session; }

  void signal(int number) const { (void)kill(leads_others() ? -id : id, number); }

  void reap_leader() {
    if (leader) return;
    int status = 0;
    const pid_t reaped = wait_for(id, status, WNOHANG);
    if (reaped == 0) return;
    leader.emplace();
    leader->overdue = overdue;
    if (reaped == id && WIFEXITED(status)) leader->code = WEXITSTATUS(status);
    if (reaped == id && WIFSIGNALED(status)) leader->signal = WTERMSIG(status);
    watch.close();
    const auto end = steady_clock::now() + kFarewell;
    deadline = std::min(deadline.value_or(end), end);
  }

  /// Whether somebody of the group is still there, and may be.
  bool others_remain() {
    if (!leads_others() || kill(-id, 0) != 0) return false;
    if (!command.leads_session && steady_clock::now() < *deadline) return true;
    signal(SIGKILL);
    return false;
  }

  /// Whether the process has ended. What it wrote last is read then; what others that hold its
  /// streams will write is not waited for.
  bool reap() {
    if (ended) return true;
    reap_leader();
    if (!leader || others_remain()) return false;
    ended = leader;
    for (int piece = 0; piece < kMostPieces && pump(Duration(0)).text; ++piece) {
    }
    output.close();
    errors.close();
    return true;
  }

  void kill_overdue() {
    if (leader || overdue || !deadline || steady_clock::now() < *deadline) return;
    overdue = true;
    signal(SIGKILL);
  }

  /// Until `end`, the deadline, or the next look at a process that nobody announces.
  [[nodiscard]] Duration pause_until(steady_clock::time_point end) const {
    const auto next = deadline && !overdue ? std::min(end, *deadline) : end;
    const auto rest = std::chrono::ceil<Duration>(next - steady_clock::now());
    return std::clamp(rest, Duration(0), watch.is_open() ? Duration(60'000) : kPause);
  }

  ChildCommand command;
  pid_t id = -1;
  Descriptor input;  ///< the end that nobody writes to any more
  Descriptor output;
  Descriptor errors;
  Descriptor watch;  ///< readable once the process has ended
  std::optional<steady_clock::time_point> deadline;
  bool overdue = false;
  std::optional<ChildExit> leader;  ///< how it ended
  std::optional<ChildExit> ended;   ///< the same, once its group has
};

ChildProcess::ChildProcess(ChildCommand command)
    : state_(std::make_unique<State>(std::move(command))) {}
ChildProcess::ChildProcess(ChildProcess&&) noexcept = default;
ChildProcess& ChildProcess::operator=(ChildProcess&&) noexcept = default;
ChildProcess::~ChildProcess() = default;

int ChildProcess::id() const { return state_->id; }

void ChildProcess::end_within(Duration duration) {
  state_->deadline = steady_clock::now() + duration;
}

std::optional<ChildExit> ChildProcess::wait(Duration timeout, int also) {
  const auto end = steady_clock::now() + timeout;
  while (!state_->reap()) {
    state_->kill_overdue();
    if (steady_clock::now() >= end) return std::nullopt;
    if (state_->pump(state_->pause_until(end), also).also) return std::nullopt;
  }
  return state_->ended;
}

void ChildProcess::close_input() { state_->input.close(); }

void ChildProcess::send(int signal) {
  if (!state_->ended) state_->signal(signal);
}

ChildExit ChildProcess::terminate(Duration grace) {
  send(SIGTERM);
  if (const auto ended = wait(grace)) return *ended;
  send(SIGKILL);
  for (;;)
    if (const auto ended = wait(Duration(60'000))) return *ended;
}

}  // namespace ptbench
