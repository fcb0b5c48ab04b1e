#include "src/ranks/host_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include "src/base/error.h"
#include "src/base/exit_code.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/process/child_process.h"
#include "src/process/network_socket.h"
#include "src/ranks/meeting_address.h"

namespace ptbench {
namespace {

constexpr ChildProcess::Duration kRound{100};  // to look at all processes in turn
// For rank 0 to say itself what became of a rank, once that has failed; and to end when asked to.
constexpr ChildProcess::Duration kToNotice{5'000};
constexpr ChildProcess::Duration kToSave = std::chrono::minutes(1);
constexpr ChildProcess::Duration kToLeave{30'000};  // for the others, once rank 0 has ended
constexpr int kShellFailed = 255;                   // ssh(1)
constexpr int kNotFound = 127;                      // sh(1)

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// A port of `host` that is free now.
NetworkAddress free_address(const std::string& host) {
  std::string why;
  const Descriptor listener = listen_at({.host = host, .port = 0}, why);
  if (!listener.is_open())
    throw run_error(fmt::format("there is no port for ranks to meet at {}: {}", host, why),
                    "name this host by an address of its network");
  return {.host = host, .port = own_address(listener).port};
}

/// The process of one rank: a shell of its host, which becomes the program.
class RankOnHost {
 public:
  RankOnHost(Size rank, std::string host, ChildCommand command)
      : rank_(rank), host_(std::move(host)), process_(std::move(command)) {}

  /// Whether it still runs, after a look of at most `duration`.
  [[nodiscard]] bool runs(ChildProcess::Duration duration) {
    if (!ended_) ended_ = process_.wait(duration);
    return !ended_;
  }
  void end_within(ChildProcess::Duration duration) { process_.end_within(duration); }
  void interrupt() { process_.send(SIGTERM); }
  [[nodiscard]] bool has_ended() const { return ended_.has_value(); }
  [[nodiscard]] bool has_failed() const { return ended_ && ended_->code != 0; }
  [[nodiscard]] int code() const { return ended_->code; }

  [[nodiscard]] Error error(const std::string& program) const {
    const std::string name = fmt::format("rank {} on {}", rank_, host_);
    if (rank_ != 0 && ended_->code == kShellFailed)
      return run_error(
          fmt::format("{}: the shell that was to reach the host ended with {}", name, kShellFailed),
          fmt::format("see what it said above; `ssh {} true` must work without a "
                      "question",
                      host_));
    if (ended_->code == kNotFound)
      return run_error(fmt::format("{}: there is no '{}'", name, printable(program)),
                       "all hosts need the program, at the same place");
    if (ended_->signal != 0)
      return run_error(fmt::format("{} was killed by signal {}", name, ended_->signal));
    return run_error(fmt::format("{} ended with exit code {}", name, ended_->code),
                     "see what it said above");
  }

 private:
  Size rank_;
  std::string host_;
  ChildProcess process_;
  std::optional<ChildExit> ended_;
};

class HostGroup {
 public:
  explicit HostGroup(const HostProcesses& processes)
      : processes_(processes),
        address_(free_address(processes.hosts.slots.front().host)),
        token_(new_token()) {
    Size rank = 0;
    for (const HostSlots& slots : processes.hosts.slots)
      for (Size local = 0; local < slots.ranks; ++local, ++rank)
        ranks_.emplace_back(rank, slots.host, command_of(rank, local, slots.host));
  }

  int run() {
    while (look())
      if (processes_.interrupted()) interrupt();
    const RankOnHost& zero = ranks_.front();
    if (first_failed_ != nullptr && was_asked_)
      throw first_failed_->error(processes_.command.front());
    // Before the ranks have met, a signal ends rank 0 as it ends other programs.
    if (interrupted_ && zero.code() < 0) return static_cast<int>(ExitCode::interrupted);
    if (zero.code() < 0 || zero.code() == kNotFound) throw zero.error(processes_.command.front());
    return zero.code();
  }

 private:
  /// Whether any process still runs.
  bool look() {
    const auto share = std::max(ChildProcess::Duration(1),
                                kRound / static_cast<ChildProcess::Duration::rep>(ranks_.size()));
    bool runs = false;
    for (RankOnHost& rank : ranks_) {
      runs = rank.runs(share) || runs;
      if (rank.has_failed() && first_failed_ == nullptr) {
        first_failed_ = &rank;
        failed_at_ = std::chrono::steady_clock::now();
      }
    }
    if (ranks_.front().has_ended())
      let_others_leave();
    else if (first_failed_ != nullptr && !interrupted_)
      ask_after_a_while();
    return runs;
  }

  /// Who would wait for the rank that failed: rank 0, which knows more about those that it has met.
  void ask_after_a_while() {
    if (was_asked_ || std::chrono::steady_clock::now() - failed_at_ < kToNotice) return;
    was_asked_ = true;
    ranks_.front().interrupt();
    for (RankOnHost& rank : ranks_) rank.end_within(kToSave);
  }

  void let_others_leave() {
    if (std::exchange(leaving_, true)) return;
    for (RankOnHost& rank : ranks_) rank.end_within(kToLeave);
  }

  /// Rank 0 ends of itself to save what it has, and the others with it.
  void interrupt() {
    if (std::exchange(interrupted_, true)) return;
    ranks_.front().interrupt();
    for (RankOnHost& rank : ranks_) rank.end_within(kToSave);
  }

  /// What the shell of a rank's host is to do.
  [[nodiscard]] std::string script_of(Size rank, Size local) const {
    std::string script =
        fmt::format("cd {} 2>/dev/null\n", shell_word(std::filesystem::current_path().string()));
    const auto give = [&script](std::string_view name, const std::string& value) {
      script += fmt::format("{0}={1}\nexport {0}\n", name, shell_word(value));
    };
    give("PTBENCH_RANK", std::to_string(rank));
    give("PTBENCH_WORLD_SIZE", std::to_string(ranks_of(processes_.hosts.slots)));
    give("PTBENCH_LOCAL_RANK", std::to_string(local));
    give("PTBENCH_ADDR", fmt::format("{}:{}", bracketed(address_.host), address_.port));
    give("PTBENCH_TOKEN", token_);
    script += "exec";
    for (const std::string& word : processes_.command) script += " " + shell_word(word);
    return script + " </dev/null\n";
  }

  [[nodiscard]] ChildCommand command_of(Size rank, Size local, const std::string& host) const {
    const bool is_here = host == processes_.hosts.slots.front().host;
    ChildCommand command{.program = "/bin/sh", .arguments = {}, .input = script_of(rank, local)};
    if (!is_here)
      command.arguments = {"-c", fmt::format("exec {} \"$0\" \"$1\"", processes_.hosts.shell), host,
                           "exec /bin/sh"};
    command.on_output = [](std::string_view text) {
      (void)std::fwrite(text.data(), 1, text.size(), stdout);
      (void)std::fflush(stdout);
    };
    command.leads_session = true;
    return command;
  }

  const HostProcesses& processes_;
  NetworkAddress address_;
  std::string token_;
  std::deque<RankOnHost> ranks_;  // which do not move
  const RankOnHost* first_failed_ = nullptr;
  std::chrono::steady_clock::time_point failed_at_;
  bool was_asked_ = false;  ///< rank 0, to end for a rank that failed
  bool interrupted_ = false;
  bool leaving_ = false;
};

}  // namespace

void require_meeting_place(const std::vector<HostSlots>& hosts) {
  const std::string& first = hosts.front().host;
  const Whereabouts where = whereabouts_of(first);
  if (where == Whereabouts::elsewhere || where == Whereabouts::nowhere)
    throw usage_error(
        fmt::format("--hosts begins with {}, which is {}", first,
                    where == Whereabouts::nowhere ? "no host that is known here" : "not this host"),
        "start it on the host that is named first: rank 0 is there, and keeps the results");
  if (where == Whereabouts::loopback && hosts.size() > 1)
    throw usage_error(
        fmt::format("--hosts begins with {}, a name by which no other host reaches this one",
                    first),
        "name this host by an address of its network");
}

int run_on_hosts(const HostProcesses& processes) {
  require_meeting_place(processes.hosts.slots);
  return HostGroup(processes).run();
}

}  // namespace ptbench
