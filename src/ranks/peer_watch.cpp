#include "src/ranks/peer_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/interrupt_signals.h"
#include "src/base/log.h"
#include "src/base/phase_board.h"
#include "src/base/process_state.h"
#include "src/process/local_socket.h"
#include "src/process/outbox.h"
#include "src/process/pulse.h"
#include "src/ranks/rank_card.h"
#include "src/ranks/rank_mirror.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view kGoodbye = "goodbye";
constexpr std::string_view kInterrupted = "interrupted";
// After a rank has given up: to end by itself, and then to end what it does by itself.
constexpr Pulse::Duration kLeave{500};
constexpr Pulse::Duration kEnd{2500};
// For rank 0 to save, and between two looks whether it has.
constexpr std::chrono::seconds kLongestFarewell{10};
constexpr std::chrono::milliseconds kFarewellLook{5};
// Between two messages to ranks on other hosts, where there is something new, and where not.
constexpr std::chrono::milliseconds kTelling{100};
constexpr std::chrono::milliseconds kHeartbeat{1000};
// Between two readings of their messages: each is a look at all ranks, and of many one speaks at
// any time.
constexpr std::chrono::milliseconds kReading{20};
// For the last words to leave.
constexpr std::chrono::milliseconds kLastWords{200};
// Without a message from one: beyond what TCP takes to send again what was lost, and before the
// deadlines of those who wait for it, who do not know whose fault it is.
constexpr Pulse::Duration kLongestSilence{10'000};

/// For how long a rank that works may not be heard of.
Pulse::Duration longest_silence(std::chrono::milliseconds timeout) {
  return std::min(kLongestSilence, timeout * 3 / 4);
}

/// Several of them fit into the longest silence.
Pulse::Duration heartbeat(std::chrono::milliseconds timeout) {
  return std::min(kHeartbeat, longest_silence(timeout) / 4);
}

/// Readable while a signal waits that would interrupt this process. It is not taken.
Descriptor pending_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kInterruptSignals) sigaddset(&signals, signal);
  return Descriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

class PeerWatch::State {
 public:
  State(SharedRegion memory, PeerLinks kept, std::chrono::milliseconds timeout, Requests asked)
      : region_(std::move(memory)),
        links_(std::move(kept)),
        mirror_(region_, links_.rank, heartbeat(timeout)),
        timeout_(timeout),
        requests_(std::move(asked)),
        stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        outboxes_(links_.peers.size()),
        pulses_(links_.peers.size()),
        unheard_(links_.peers.size()),
        has_spoken_(links_.peers.size()),
        last_check_up_(steady_clock::now()) {
    if (!stop_.is_open())
      throw run_error("the other ranks cannot be watched",
                      "check the limit of open files (ulimit -n)");
    if (!can_see_processes())
      for (PeerLink& peer : links_.peers) peer.process = 0;
    if (links_.rank != 0) interrupts_ = pending_interrupts();
    thread_ = std::thread([this] {
      while (look()) continue;
    });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    (void)eventfd_write(stop_.number(), 1);
    thread_.join();
    if (region_.given_up()) kill_stopped();
    say_last_words();
  }

  void let_end() noexcept { ends_ = true; }

  void wait_for_rank_zero() const {
    const auto end = steady_clock::now() + kLongestFarewell;
    while (links_.rank != 0 && !rank_zero_left_ && steady_clock::now() < end)
      std::this_thread::sleep_for(kFarewellLook);
  }

  /// The thread changes nothing of what this reads.
  [[nodiscard]] std::optional<std::string> stopped_peer() const {
    const auto stopped = std::ranges::find_if(links_.peers, [&](const PeerLink& peer) {
      return peer.rank == killed_ || is_stopped(peer);
    });
    const auto by = region_.given_up();
    if (stopped == links_.peers.end() || (by && by->rank == stopped->rank)) return std::nullopt;
    return fmt::format("rank {} on {}, while {}, is stopped", stopped->rank,
                       printable(stopped->host), phase_of(stopped->rank));
  }

 private:
  static constexpr std::size_t kOwnEvents = 3;  ///< of a look, before those of the peers

  static pollfd watched(const Descriptor& descriptor) {
    return {.fd = descriptor.number(), .events = POLLIN, .revents = 0};
  }

  /// Nothing is known of one without a number.
  static ProcessState state_of(const PeerLink& peer) {
    return peer.process > 0 ? process_state(peer.process) : ProcessState{};
  }
  static bool is_stopped(const PeerLink& peer) { return state_of(peer).is_stopped(); }

  /// False once this rank has done.
  bool look() {
    std::vector<pollfd> events{watched(stop_), watched(links_.listener), watched(interrupts_)};
    for (std::size_t at = 0; at < links_.peers.size(); ++at) {
      events.push_back(watched(links_.peers[at].socket));
      if (!outboxes_[at].is_empty()) events.back().events |= POLLOUT;
    }
    if (!await(events)) return true;
    if (events[0].revents != 0) return false;
    if (events[1].revents != 0) send_away();
    if (events[2].revents != 0) pass_on_interrupt();
    for (std::size_t at = 0; at < links_.peers.size(); ++at)
      if ((events[kOwnEvents + at].revents & ~POLLOUT) != 0) hear(at);
    if (links_.are_apart && steady_clock::now() >= next_telling_) tell_peers();
    send_what_is_left();
    check_up();
    return true;
  }

  /// For something to happen, not for long. False where a signal came.
  bool await(std::vector<pollfd>& events) {
    const auto longest = links_.are_apart ? kTelling : Pulse::kCheckUp;
    if (poll(events.data(), events.size(), static_cast<int>(longest.count())) < 0) return false;
    const auto has_happened = [](const pollfd& event) { return event.revents != 0; };
    if (!links_.are_apart || std::none_of(events.begin() + kOwnEvents, events.end(), has_happened))
      return true;
    const auto next = last_reading_ + kReading;
    const bool is_soon = steady_clock::now() < next;
    if (is_soon) (void)poll(events.data(), kOwnEvents, poll_timeout(next));
    last_reading_ = steady_clock::now();
    return !is_soon || poll(events.data(), events.size(), 0) >= 0;
  }

  void tell_peers() {
    next_telling_ = steady_clock::now() + kTelling;
    mirror_.note(own_.silent());
    for (std::size_t at = 0; at < outboxes_.size(); ++at)
      if (links_.peers[at].socket.is_open()) mirror_.tell(links_.peers[at].rank, outboxes_[at]);
  }

  void send_what_is_left() {
    for (std::size_t at = 0; at < outboxes_.size(); ++at)
      if (links_.peers[at].socket.is_open()) outboxes_[at].send_to(links_.peers[at].socket);
  }

  /// Call once the thread has ended. A rank that reads nothing any more gets no extra time.
  void say_last_words() {
    const auto end = steady_clock::now() + kLastWords;
    const auto send_all = [&] {
      for (std::size_t at = 0; at < outboxes_.size(); ++at)
        if (links_.peers[at].socket.is_open())
          outboxes_[at].send_all_to(links_.peers[at].socket, end);
    };
    send_all();  // they are told what is new once they know the rest
    if (links_.are_apart) tell_peers();
    for (Outbox& outbox : outboxes_) outbox.add(std::string(kGoodbye));
    send_all();
  }

  void send_away() const {
    const Descriptor late = accept_from(links_.listener);
    if (late.is_open()) (void)send_message(late, encode_busy());
  }

  void pass_on_interrupt() {
    interrupts_.close();
    outboxes_.front().add(std::string(kInterrupted));
  }

  void hear(std::size_t at) {
    PeerLink& peer = links_.peers[at];
    const SocketMessage message = receive_message(peer.socket);
    if (message.kind == SocketMessage::Kind::none_yet) return;
    has_spoken_[at] = true;
    if (links_.are_apart && mirror_.hear(peer.rank, message.text)) return;
    if (message.text == kInterrupted) {
      if (requests_.leave) requests_.leave();
      return;
    }
    if (message.kind == SocketMessage::Kind::closed) miss(peer);
    peer.socket.close();
    if (peer.rank == 0) rank_zero_left_ = true;
  }

  void miss(const PeerLink& peer) const {
    region_.give_up(peer.rank, fmt::format("its process on {} ended while {}", printable(peer.host),
                                           phase_of(peer.rank)));
  }

  void check_up() {
    const auto now = steady_clock::now();
    const auto interval = std::chrono::floor<Pulse::Duration>(now - last_check_up_);
    if (interval < Pulse::kCheckUp) return;
    last_check_up_ = now;
    if (links_.are_apart) listen_for_silence(interval);
    if (!region_.is_resting()) {
      feel_pulses(interval);
      give_up_if_hung();
    }
    if (const auto by = region_.given_up()) see_to_end(*by, interval);
  }

  /// A link that is cut says nothing, and so does a host that is down.
  void listen_for_silence(Pulse::Duration interval) {
    const Pulse::Duration limit = longest_silence(timeout_);
    for (std::size_t at = 0; at < unheard_.size(); ++at) {
      const PeerLink& peer = links_.peers[at];
      unheard_[at] += std::min(interval, Pulse::kLongestLook);
      if (has_spoken_[at]) unheard_[at] = {};
      has_spoken_[at] = false;
      if (!peer.socket.is_open() || unheard_[at] < limit) continue;
      if (peer.rank == 0) rank_zero_left_ = true;
      region_.give_up(
          peer.rank,
          fmt::format("nothing was heard from it on {} for {:g} s, while {}: its host may be down, "
                      "or a link between {} and {}",
                      printable(peer.host), std::chrono::duration<double>(limit).count(),
                      phase_of(peer.rank), printable(links_.host), printable(peer.host)));
    }
  }

  void feel_pulses(Pulse::Duration interval) {
    for (std::size_t at = 0; at < pulses_.size(); ++at) {
      const PeerLink& peer = links_.peers[at];
      if (peer.socket.is_open()) pulses_[at].feel(state_of(peer), worked_by(peer.rank), interval);
    }
    own_.feel(state_beside_this_thread(), worked_by(links_.rank), interval);
  }

  /// Ranks that are stopped or asleep while nobody waits for them have no deadline of their own.
  /// One that computes by itself, however long, makes progress, and others may wait for it: that
  /// none does only rank 0 can see.
  void give_up_if_hung() const {
    if (region_.given_up()) return;
    const Pulse::Duration limit = timeout_ + Pulse::kPatience;
    Size liveliest = links_.rank;
    std::string host = links_.host;
    Pulse::Duration silent = own_.silent();
    bool is_alone = true;
    for (std::size_t at = 0; at < pulses_.size(); ++at) {
      const PeerLink& peer = links_.peers[at];
      if (!peer.socket.is_open()) continue;
      is_alone = false;
      if (pulses_[at].stopped() >= limit) give_up(peer.rank, peer.host, ": it is stopped");
      if (silence_of(at) < silent) {
        liveliest = peer.rank;
        host = peer.host;
      }
      silent = std::min(silent, silence_of(at));
    }
    if (links_.rank == 0 && !is_alone && silent >= limit) give_up(liveliest, host, "");
  }

  /// Of a process on another host its own watch knows.
  [[nodiscard]] Pulse::Duration silence_of(std::size_t at) const {
    const PeerLink& peer = links_.peers[at];
    const bool is_seen_here = peer.process > 0 || !links_.are_apart;
    return is_seen_here ? pulses_[at].silent() : mirror_.silent(peer.rank);
  }

  void give_up(Size rank, const std::string& host, std::string_view why) const {
    region_.give_up(
        rank,
        fmt::format("its process on {} made no progress within {:g} s while {}{}", printable(host),
                    std::chrono::duration<double>(timeout_).count(), phase_of(rank), why));
  }

  /// A rank that waits for others has learnt it; a rank that is busy by itself, or hangs, has not.
  void see_to_end(const GivenUp& by, Pulse::Duration interval) {
    kill_stopped();
    over_for_ += std::min(interval, Pulse::kLongestLook);
    if (ends_) return;
    if (links_.rank == 0 && by.rank != 0 && over_for_ >= kLeave && requests_.leave)
      std::exchange(requests_.leave, {})();
    if (over_for_ >= end_after(by) && requests_.end) std::exchange(requests_.end, {})(by);
  }

  /// One that computes learns it when it has done so; rank 0 then saves what was measured, and one
  /// that failed itself says why.
  [[nodiscard]] Pulse::Duration end_after(const GivenUp& by) const {
    const bool hangs = own_.silent() >= kEnd;
    const bool has_more_to_say = links_.rank == 0 || by.rank == links_.rank;
    return hangs || !has_more_to_say ? kEnd : std::max(timeout_, kEnd);
  }

  /// It could not learn that the group is over, and would stay.
  void kill_stopped() {
    for (const PeerLink& peer : links_.peers) {
      if (!peer.socket.is_open() || !is_stopped(peer)) continue;
      killed_ = peer.rank;
      (void)kill(peer.process, SIGKILL);
    }
  }

  [[nodiscard]] std::uint64_t worked_by(Size rank) const {
    return region_.rank_block(rank).worked.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::string_view phase_of(Size rank) const {
    return name_of(PhaseBoard(region_.phases()).phase(rank));
  }

  SharedRegion region_;
  PeerLinks links_;
  RankMirror mirror_;  ///< of ranks on several hosts
  std::chrono::milliseconds timeout_;
  Requests requests_;
  Descriptor stop_;
  Descriptor interrupts_;
  std::vector<Outbox> outboxes_;          ///< to the peers
  std::vector<Pulse> pulses_;             ///< of the peers
  std::vector<Pulse::Duration> unheard_;  ///< for how long, of the peers
  std::vector<bool> has_spoken_;          ///< since the last look, of the peers
  steady_clock::time_point next_telling_;
  steady_clock::time_point last_reading_;
  Pulse own_;
  steady_clock::time_point last_check_up_;
  Pulse::Duration over_for_{};  ///< since a rank gave up
  std::atomic<bool> ends_{false};
  std::atomic<bool> rank_zero_left_{false};
  std::atomic<Size> killed_{-1};  ///< a rank that was stopped, once it is killed
  std::thread thread_;
};

PeerWatch::PeerWatch(SharedRegion region, PeerLinks links, std::chrono::milliseconds timeout,
                     Requests requests)
    : state_(std::make_unique<State>(std::move(region), std::move(links), timeout,
                                     std::move(requests))) {}

PeerWatch::~PeerWatch() = default;

void PeerWatch::let_end() noexcept { state_->let_end(); }

void PeerWatch::wait_for_rank_zero() const { state_->wait_for_rank_zero(); }

std::optional<std::string> PeerWatch::stopped_peer() const { return state_->stopped_peer(); }

}  // namespace ptbench
