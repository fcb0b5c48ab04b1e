#include "src/ranks/rank_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <optional>
#include <utility>

#include "src/base/clock.h"
#include "src/base/host.h"
#include "src/base/interrupt_signals.h"
#include "src/base/log.h"
#include "src/base/process_state.h"
#include "src/process/child_process.h"
#include "src/process/process_messages.h"
#include "src/process/progress.h"
#include "src/process/pulse.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;

// To look at all ranks in turn: often enough for people, seldom enough not to disturb the ranks.
constexpr ChildProcess::Duration kRound{100};
constexpr ChildProcess::Duration kRestingRound{1000};  // while the ranks sleep
// To end, once another rank has failed; and to say why, for the one that gave up first.
constexpr ChildProcess::Duration kReportGrace{1500};
constexpr ChildProcess::Duration kExplain{3000};
constexpr ChildProcess::Duration kToSave = std::chrono::minutes(1);  // once interrupted
constexpr ChildProcess::Duration kToLeave{30'000};                   // once rank 0 has ended well

/// One rank's process and what it said.
class RankProcess {
 public:
  /// `heard` outlives it.
  RankProcess(const SharedRegion& region, Size rank, std::vector<std::string> arguments,
              const std::function<void(std::string_view)>& heard, Progress& progress)
      : region_(region),
        rank_(rank),
        heard_(heard),
        messages_(progress, fmt::format("[rank {}] ", rank)),
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
  void interrupt() { process_.send(SIGTERM); }
  void feel_pulse(ChildProcess::Duration interval) {
    if (!ended_) pulse_.feel(process_state(process_.id()), worked(), interval);
  }

  [[nodiscard]] Size rank() const { return rank_; }
  [[nodiscard]] bool has_ended_well() const { return ended_ && ended_->code == 0; }
  [[nodiscard]] bool has_failed() const { return ended_ && ended_->code != 0; }
  /// By somebody else than this process.
  [[nodiscard]] bool was_killed() const {
    return ended_ && ended_->signal != 0 && !ended_->overdue;
  }
  [[nodiscard]] bool was_interrupted() const {
    return ended_ ? is_interrupt_signal(ended_->signal) : has_interruption_pending(process_.id());
  }
  [[nodiscard]] bool is_stopped() const {
    return !ended_ && process_state(process_.id()).is_stopped();
  }
  [[nodiscard]] ChildProcess::Duration silent() const {
    return ended_ ? ChildProcess::Duration::max() : pulse_.silent();
  }
  [[nodiscard]] ChildProcess::Duration stopped() const { return pulse_.stopped(); }
  [[nodiscard]] const std::string& output() const { return output_; }

  /// The error of a rank that has failed. `reason`: which it gave to the others, if any.
  [[nodiscard]] Error error(const std::string& reason) const {
    const std::string name = this->name();
    if (!messages_.error().empty())
      return {code(), fmt::format("{}: {}", name, without_own_name(messages_.error())),
              printable(messages_.remedy())};
    if (ended_->overdue && !reason.empty())
      return run_error(fmt::format("{}: {}", name, without_own_name(reason)));
    if (ended_->signal != 0)
      return run_error(
          fmt::format("{}, was killed by signal {}{}", name, ended_->signal,
                      ended_->signal == SIGKILL && !ended_->overdue ? " (out of memory?)" : ""),
          "use fewer ranks or smaller sizes if memory is short");
    return run_error(fmt::format("{}, ended with exit code {}", name, ended_->code),
                     "see what it said above");
  }

  /// "rank 1 on host, while measuring".
  [[nodiscard]] std::string name() const {
    const std::span<PhaseBoard::Slot> phases = region_.phases();
    return fmt::format("rank {} on {}, while {}", rank_, host_name(),
                       name_of(PhaseBoard(phases).phase(rank_)));
  }

 private:
  ChildCommand command(std::vector<std::string> arguments) {
    return {.program = "/proc/self/exe",
            .arguments = std::move(arguments),
            .on_output =
                [this](std::string_view text) {
                  output_ += text;
                  if (rank_ == 0 && heard_) heard_(text);
                },
            .on_errors = [this](std::string_view text) { messages_.take(text); }};
  }

  [[nodiscard]] std::uint64_t worked() const {
    return region_.rank_block(rank_).worked.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::string without_own_name(std::string_view message) const {
    const std::string own = fmt::format("rank {}: ", rank_);
    if (message.starts_with(own)) message.remove_prefix(own.size());
    return printable(message);
  }

  [[nodiscard]] ExitCode code() const {
    const auto code = static_cast<ExitCode>(ended_->code);
    return is_refusal(code) || code == ExitCode::defect ? code : ExitCode::failed;
  }

  const SharedRegion& region_;
  Size rank_;
  const std::function<void(std::string_view)>& heard_;
  std::string output_;
  Pulse pulse_;
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
        last_check_up_(steady_clock::now()) {
    const InheritedRegion inherited(region);
    Size rank = 0;
    for (const std::vector<std::string>& arguments : processes.arguments)
      ranks_.emplace_back(region, rank++, arguments, processes.heard, progress_);
  }

  RankOutcome run() {
    while (look()) {
      if (processes_.interrupted()) interrupt();
      check_up();
    }
    // One that came from the terminal may have ended ranks before this process asked.
    const bool interrupted = interrupted_ || processes_.interrupted() ||
                             std::ranges::any_of(ranks_, &RankProcess::was_interrupted);
    return {.output = ranks_.front().output(), .interrupted = interrupted, .error = error()};
  }

 private:
  /// Whether any rank still runs.
  bool look() {
    const auto share = std::max(ChildProcess::Duration(1),
                                (region_.is_resting() ? kRestingRound : kRound) /
                                    static_cast<ChildProcess::Duration::rep>(ranks_.size()));
    bool runs = false;
    for (RankProcess& rank : ranks_) {
      runs = rank.runs(share) || runs;
      if (rank.has_failed()) end_others(rank.rank(), "its process has ended");
    }
    if (ranks_.front().has_ended_well()) let_others_leave();
    return runs;
  }

  /// Rank 0 ends of itself to save what it has, and the others with it.
  void interrupt() {
    if (std::exchange(interrupted_, true)) return;
    ranks_.front().interrupt();
    if (ending_) return;
    for (RankProcess& rank : ranks_) rank.end_within(kToSave);
  }

  /// Nobody will hear from rank 0 any more, which matters to none if all is done.
  void let_others_leave() {
    if (std::exchange(ending_, true)) return;
    region_.give_up(0, "it has ended");
    for (RankProcess& rank : ranks_) rank.end_within(kToLeave);
  }

  void end_others(Size rank, std::string_view reason) {
    if (std::exchange(ending_, true)) return;
    if (!region_.given_up()) first_ = rank;
    note_stopped();
    region_.give_up(rank, reason);
    for (RankProcess& other : ranks_) other.end_within(time_to_end(other));
  }

  [[nodiscard]] ChildProcess::Duration time_to_end(const RankProcess& rank) const {
    if (hung_ || rank.is_stopped()) return ChildProcess::Duration(0);
    const auto by = region_.given_up();
    return by && by->rank == rank.rank() ? kExplain : kReportGrace;
  }

  /// One that is stopped is why others failed who waited for it.
  void note_stopped() {
    if (hung_ || first_) return;
    const auto stopped = std::ranges::find_if(ranks_, &RankProcess::is_stopped);
    if (stopped == ranks_.end()) return;
    const auto by = region_.given_up();
    hung_ = fmt::format("{}, is stopped{}", stopped->name(), by ? "; " + by->reason : "");
  }

  void check_up() {
    const auto now = steady_clock::now();
    const auto interval = std::chrono::floor<ChildProcess::Duration>(now - last_check_up_);
    if (interval < Pulse::kCheckUp) return;
    last_check_up_ = now;
    if (region_.is_resting()) return;
    for (RankProcess& rank : ranks_) rank.feel_pulse(interval);
    // Who asks one rank to end means the run.
    if (std::ranges::any_of(ranks_, &RankProcess::was_interrupted)) interrupt();
    end_if_hung();
  }

  /// Ranks that are stopped or asleep while nobody waits for them have no deadline of their own.
  /// One that computes by itself, however long, makes progress.
  void end_if_hung() {
    if (hung_ || has_failed()) return;
    const ChildProcess::Duration limit = processes_.timeout + Pulse::kPatience;
    const auto stopped = std::ranges::max_element(ranks_, {}, &RankProcess::stopped);
    const auto liveliest = std::ranges::min_element(ranks_, {}, &RankProcess::silent);
    const bool is_stopped = stopped->stopped() >= limit;
    if (!is_stopped && liveliest->silent() < limit) return;
    const RankProcess& blamed = stopped->is_stopped() ? *stopped : *liveliest;
    hung_ = fmt::format("{}, made no progress within {:g} s{}", blamed.name(),
                        std::chrono::duration<double>(processes_.timeout).count(),
                        blamed.is_stopped() ? ": it is stopped" : "");
    ending_ = false;  // rank 0 may have left already
    end_others(blamed.rank(), "it made no progress");
  }

  [[nodiscard]] bool has_failed() const {
    return std::ranges::any_of(ranks_, &RankProcess::has_failed);
  }

  [[nodiscard]] std::optional<Error> error() const {
    if (hung_)
      return run_error(*hung_, "give a longer --timeout, or see whether the process was stopped");
    const RankProcess* blamed = to_blame();
    if (blamed == nullptr) return std::nullopt;
    const auto by = region_.given_up();
    return blamed->error(by && by->rank == blamed->rank() && !first_ ? by->reason : std::string());
  }

  /// Who failed first: was seen to, or was killed, or gave up. Null: nobody. Where rank 0 ended
  /// well, others that missed it did not fail.
  [[nodiscard]] const RankProcess* to_blame() const {
    if (first_) return &ranks_[static_cast<std::size_t>(*first_)];
    const auto killed = std::ranges::find_if(ranks_, &RankProcess::was_killed);
    if (killed != ranks_.end()) return &*killed;
    if (const auto by = region_.given_up()) {
      const RankProcess& who = ranks_[static_cast<std::size_t>(by->rank)];
      if (who.has_failed()) return &who;
      if (who.rank() == 0 && who.has_ended_well()) return nullptr;
    }
    const auto failed = std::ranges::find_if(ranks_, &RankProcess::has_failed);
    return failed == ranks_.end() ? nullptr : &*failed;
  }

  const SharedRegion& region_;
  const RankProcesses& processes_;
  SteadyClock clock_;
  Progress progress_;
  std::deque<RankProcess> ranks_;  // which do not move
  std::optional<Size> first_;      ///< whose end was noticed before anybody gave up
  bool interrupted_ = false;
  bool ending_ = false;
  std::optional<std::string> hung_;  ///< who, and for how long
  steady_clock::time_point last_check_up_;
};

}  // namespace

RankOutcome run_ranks(const SharedRegion& region, const RankProcesses& processes) {
  return RankGroup(region, processes).run();
}

}  // namespace ptbench
