#include "src/ranks/host_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/exit_code.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/process/child_process.h"
#include "src/process/network_socket.h"
#include "src/ranks/host_shell.h"
#include "src/ranks/meeting_address.h"

namespace ptbench {
namespace {

constexpr ChildProcess::Duration kRound{100};  // to look at all processes in turn
// For rank 0 to say itself what became of a rank, once that has failed; and to end when asked to.
constexpr ChildProcess::Duration kToNotice{5'000};
constexpr ChildProcess::Duration kToSave = std::chrono::minutes(1);
constexpr ChildProcess::Duration kToLeave{30'000};  // for the others, once rank 0 has ended well

/// A port of `host` that is free now.
NetworkAddress free_address(const std::string& host) {
  std::string why;
  const Descriptor listener = listen_at({.host = host, .port = 0}, why);
  if (!listener.is_open())
    throw run_error(fmt::format("there is no port for ranks to meet at {}: {}", host, why),
                    "name this host by an address of its network");
  return {.host = host, .port = own_address(listener).port};
}

class HostGroup {
 public:
  explicit HostGroup(const HostProcesses& processes)
      : processes_(processes),
        address_(free_address(processes.hosts.slots.front().host)),
        start_{.command = processes.command, .variables = variables()},
        zero_(command_of_rank_zero()) {
    Size first = 0;
    for (const HostSlots& slots : processes.hosts.slots) {
      const Size started = first == 0 ? 1 : 0;
      const HostRanks ranks{.host = slots.host,
                            .first = first + started,
                            .count = slots.ranks - started,
                            .first_local = started};
      if (ranks.count > 0)
        shells_.emplace_back(ranks, start_, first == 0 ? "" : processes.hosts.shell);
      first += slots.ranks;
    }
  }

  int run() {
    while (look())
      if (processes_.interrupted()) interrupt();
    if (failure_ && was_asked_) throw Error(*failure_);
    // Before the ranks have met, a signal ends rank 0 as it ends other programs.
    if (interrupted_ && zero_end_->code < 0) return static_cast<int>(ExitCode::interrupted);
    if (zero_end_->code < 0)
      throw rank_error(0, host_of_rank_zero(), kSignalCodes + zero_end_->signal, program());
    if (means_no_program(zero_end_->code))
      throw rank_error(0, host_of_rank_zero(), zero_end_->code, program());
    return zero_end_->code;
  }

 private:
  [[nodiscard]] const std::string& program() const { return processes_.command.front(); }
  [[nodiscard]] const std::string& host_of_rank_zero() const {
    return processes_.hosts.slots.front().host;
  }

  /// Whether any process still runs.
  bool look() {
    const auto share =
        std::max(ChildProcess::Duration(1),
                 kRound / static_cast<ChildProcess::Duration::rep>(shells_.size() + 1));
    if (!zero_end_) zero_end_ = zero_.wait(share);
    bool runs = !zero_end_;
    for (HostShell& shell : shells_) runs = shell.runs(share) || runs;
    if (zero_end_)
      let_others_leave();
    else if (!interrupted_)
      notice_failure();
    return runs;
  }

  /// Who would wait for a rank that failed: rank 0, which knows more about those that it has met.
  void notice_failure() {
    for (const HostShell& shell : shells_) {
      if (failure_) break;
      failure_ = shell.failure();
      failed_at_ = Clock::now();
    }
    if (!failure_ || was_asked_ || Clock::now() - failed_at_ < kToNotice) return;
    was_asked_ = true;
    ask_rank_zero();
  }

  void ask_rank_zero() {
    zero_.send(SIGTERM);
    zero_.end_within(kToSave);
  }

  /// Those of a rank 0 that failed by itself may not have met it, and seek it.
  void let_others_leave() {
    if (!left_at_) left_at_ = Clock::now();
    const bool is_good = zero_end_->code == 0;
    if (was_ended_ || Clock::now() - *left_at_ < (is_good ? kToLeave : kToNotice)) return;
    was_ended_ = true;
    for (HostShell& shell : shells_) {
      shell.end_ranks();
      shell.end_within(kToSave + kToNotice);
    }
  }

  /// Rank 0 ends of itself to save what it has, and the others with it.
  void interrupt() {
    if (!std::exchange(interrupted_, true)) ask_rank_zero();
  }

  [[nodiscard]] ChildCommand command_of_rank_zero() const {
    ChildCommand command{
        .program = "/bin/sh",
        .input = fmt::format("{}PTBENCH_RANK=0 PTBENCH_LOCAL_RANK=0\n"
                             "export PTBENCH_RANK PTBENCH_LOCAL_RANK\nexec {} </dev/null\n",
                             start_.variables, start_.command_line())};
    command.on_output = [](std::string_view text) {
      (void)std::fwrite(text.data(), 1, text.size(), stdout);
      (void)std::fflush(stdout);
    };
    command.leads_session = true;
    command.owner_end_signal = SIGTERM;  // to save what it has
    return command;
  }

  /// What all ranks have in common.
  [[nodiscard]] std::string variables() const {
    std::string script =
        fmt::format("cd {} 2>/dev/null\n", shell_word(std::filesystem::current_path().string()));
    const auto give = [&script](std::string_view name, const std::string& value) {
      script += fmt::format("{0}={1}\nexport {0}\n", name, shell_word(value));
    };
    give("PTBENCH_WORLD_SIZE", std::to_string(ranks_of(processes_.hosts.slots)));
    give("PTBENCH_ADDR", fmt::format("{}:{}", bracketed(address_.host), address_.port));
    give("PTBENCH_TOKEN", random_word());
    return script;
  }

  using Clock = std::chrono::steady_clock;

  const HostProcesses& processes_;
  NetworkAddress address_;
  RankStart start_;
  ChildProcess zero_;  ///< rank 0, a shell that becomes the program
  std::optional<ChildExit> zero_end_;
  std::deque<HostShell> shells_;  // which do not move
  std::optional<Error> failure_;  ///< of the first rank that failed
  Clock::time_point failed_at_;
  std::optional<Clock::time_point> left_at_;  ///< when rank 0 was seen to have ended
  bool was_asked_ = false;                    ///< rank 0, to end for a rank that failed
  bool was_ended_ = false;                    ///< all others were asked to end
  bool interrupted_ = false;
};

}  // namespace

void require_meeting_place(const std::vector<HostSlots>& hosts) {
  const std::string& first = hosts.front().host;
  const Whereabouts where = whereabouts_of(first);
  if (where == Whereabouts::elsewhere || where == Whereabouts::nowhere)
    throw usage_error(
        fmt::format(
            "--hosts begins with {}, which is {}", first,
            where == Whereabouts::nowhere ? "a host that is not known here" : "not this host"),
        "start it on the host that is named first: rank 0 is there, and keeps the results");
  if (where == Whereabouts::loopback && hosts.size() > 1)
    throw usage_error(
        fmt::format("--hosts begins with {}, a name by which other hosts cannot reach this one",
                    first),
        "name this host by an address of its network");
}

int run_on_hosts(const HostProcesses& processes) {
  require_meeting_place(processes.hosts.slots);
  return HostGroup(processes).run();
}

}  // namespace ptbench
