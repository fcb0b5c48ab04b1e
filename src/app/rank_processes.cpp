#include "src/app/rank_processes.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "src/app/process_messages.h"
#include "src/app/progress.h"
#include "src/base/clock.h"
#include "src/comm/child_process.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;

// To look at all ranks in turn: often enough for people, seldom enough not to disturb the ranks.
constexpr ChildProcess::Duration kRound{50};
constexpr ChildProcess::Duration kGrace{2000};   // to end, once another rank has failed
constexpr ChildProcess::Duration kPolite{1000};  // to end, once asked

std::string host_name() {
  utsname names{};
  return uname(&names) == 0 ? std::string(static_cast<const char*>(names.nodename)) : "this host";
}

/// Of /proc/PID/stat (proc(5)).
struct ProcessState {
  char letter = '?';            ///< 'T': stopped
  std::uint64_t cpu_ticks = 0;  ///< in user and system mode
};

ProcessState process_state(int id) {
  std::ifstream file(fmt::format("/proc/{}/stat", id));
  std::ostringstream text;
  text << file.rdbuf();
  const std::string stat = text.str();
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(stat.substr(name_end + 1));
  ProcessState state;
  std::string skipped;
  rest >> state.letter;
  for (int field = 4; field < 14; ++field) rest >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  rest >> user >> system;
  state.cpu_ticks = user + system;
  return state;
}

/// One rank's process and what it said.
class RankProcess {
 public:
  RankProcess(const SharedRegion& region, Size rank, std::vector<std::string> arguments,
              Progress& progress)
      : region_(region),
        rank_(rank),
        messages_(progress),
        process_(command(std::move(arguments))) {}
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  ~RankProcess() = default;

  /// Whether it still runs, after a look of at most `duration`.
  [[nodiscard]] bool runs(ChildProcess::Duration duration) {
    if (ended_) return false;
    ended_ = process_.wait(duration);
    if (ended_) messages_.finish();
    return !ended_;
  }
  void end_within(ChildProcess::Duration duration) { process_.end_within(duration); }
  void terminate() {
    if (!ended_) ended_ = process_.terminate(kPolite);
  }

  [[nodiscard]] Size rank() const { return rank_; }
  [[nodiscard]] bool has_failed() const { return ended_ && ended_->code != 0; }
  [[nodiscard]] const std::string& output() const { return output_; }

  /// Of one that has failed.
  [[nodiscard]] Error error() const {
    const std::string name = this->name();
    if (ended_->signal != 0 && messages_.error().empty())
      return run_error(
          fmt::format("{} was killed by signal {}{}", name, ended_->signal,
                      ended_->signal == SIGKILL && !ended_->overdue ? " (out of memory?)" : ""),
          "use fewer ranks or smaller sizes if memory is short");
    if (messages_.error().empty())
      return run_error(fmt::format("{} ended with exit code {}", name, ended_->code),
                       "see what it said above");
    const bool names_itself = messages_.error().starts_with(fmt::format("rank {}:", rank_));
    return {code(), names_itself ? messages_.error() : name + ": " + messages_.error(),
            messages_.remedy()};
  }

  /// "rank 1 on host, while measuring".
  [[nodiscard]] std::string name() const {
    const std::span<PhaseBoard::Slot> phases = region_.phases();
    return fmt::format("rank {} on {}, while {},", rank_, host_name(),
                       name_of(PhaseBoard(phases).phase(rank_)));
  }

  /// Grows as long as the rank works, alone or with others.
  [[nodiscard]] std::uint64_t work() const {
    return region_.rank_block(rank_).worked.load(std::memory_order_relaxed) +
           process_state(process_.id()).cpu_ticks;
  }
  [[nodiscard]] bool is_stopped() const { return process_state(process_.id()).letter == 'T'; }

 private:
  ChildCommand command(std::vector<std::string> arguments) {
    return {.program = "/proc/self/exe",
            .arguments = std::move(arguments),
            .on_output = [this](std::string_view text) { output_ += text; },
            .on_errors = [this](std::string_view text) { messages_.take(text); }};
  }

  [[nodiscard]] ExitCode code() const {
    const auto code = static_cast<ExitCode>(ended_->code);
    const bool is_told =
        code == ExitCode::usage || code == ExitCode::capability || code == ExitCode::defect;
    return is_told ? code : ExitCode::failed;
  }

  const SharedRegion& region_;
  Size rank_;
  std::string output_;
  ProcessMessages messages_;
  ChildProcess process_;
  std::optional<ChildExit> ended_;
};

class RankGroup {
 public:
  RankGroup(const SharedRegion& region, const RankProcesses& processes)
      : region_(region),
        processes_(processes),
        progress_(clock_, stderr, false),
        last_change_(steady_clock::now()) {
    const InheritedRegion inherited(region);
    Size rank = 0;
    for (const std::vector<std::string>& arguments : processes.arguments)
      ranks_.emplace_back(region, rank++, arguments, progress_);
  }

  RankOutcome run() {
    while (look()) {
      if (processes_.interrupted()) {
        for (RankProcess& rank : ranks_) rank.terminate();
        return {.output = ranks_.front().output(), .interrupted = true, .error = {}};
      }
      watch_progress();
    }
    return {.output = ranks_.front().output(),
            .interrupted = processes_.interrupted(),
            .error = error()};
  }

 private:
  /// Whether any rank still runs.
  bool look() {
    const auto share = std::max(ChildProcess::Duration(1),
                                kRound / static_cast<ChildProcess::Duration::rep>(ranks_.size()));
    bool runs = false;
    for (RankProcess& rank : ranks_) {
      runs = rank.runs(share) || runs;
      if (rank.has_failed()) end_others(rank.rank(), "its process has ended");
    }
    return runs;
  }

  void end_others(Size rank, std::string_view reason) {
    if (std::exchange(ending_, true)) return;
    if (!region_.given_up()) first_ = rank;
    region_.give_up(rank, reason);
    for (RankProcess& other : ranks_) other.end_within(kGrace);
  }

  /// Ranks that are stopped or asleep while nobody waits for them have no deadline of their own.
  /// One that computes by itself, however long, makes progress.
  void watch_progress() {
    std::uint64_t work = 0;
    for (const RankProcess& rank : ranks_) work += rank.work();
    const auto now = steady_clock::now();
    if (work != work_) last_change_ = now;
    work_ = work;
    if (now - last_change_ < processes_.timeout + kGrace || ending_) return;
    const auto stopped = std::ranges::find_if(ranks_, &RankProcess::is_stopped);
    const RankProcess& blamed = stopped == ranks_.end() ? ranks_.front() : *stopped;
    hung_ = fmt::format("{} made no progress within {:g} s", blamed.name(),
                        std::chrono::duration<double>(processes_.timeout).count());
    end_others(blamed.rank(), "it made no progress");
  }

  /// The one to blame: who gave up first, unless that was said here.
  [[nodiscard]] std::optional<Error> error() const {
    if (hung_)
      return run_error(*hung_, "give a longer --timeout, or see whether the process was stopped");
    const auto by = region_.given_up();
    const auto blamed = static_cast<std::size_t>(first_ ? *first_ : by ? by->rank : 0);
    if (ranks_[blamed].has_failed()) return ranks_[blamed].error();
    const auto failed = std::ranges::find_if(ranks_, &RankProcess::has_failed);
    return failed == ranks_.end() ? std::nullopt : std::optional(failed->error());
  }

  const SharedRegion& region_;
  const RankProcesses& processes_;
  SteadyClock clock_;
  Progress progress_;
  std::deque<RankProcess> ranks_;  // which do not move
  std::optional<Size> first_;      ///< whose end was noticed before anybody gave up
  bool ending_ = false;
  std::optional<std::string> hung_;  ///< who, and for how long
  std::uint64_t work_ = 0;
  steady_clock::time_point last_change_;
};

}  // namespace

RankOutcome run_ranks(const SharedRegion& region, const RankProcesses& processes) {
  return RankGroup(region, processes).run();
}

}  // namespace ptbench
