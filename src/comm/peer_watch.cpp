#include "src/comm/peer_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <csignal>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/phase_board.h"
#include "src/comm/local_socket.h"
#include "src/comm/rank_card.h"

namespace ptbench {
namespace {

constexpr std::string_view kGoodbye = "goodbye";
constexpr std::string_view kInterrupted = "interrupted";

/// Readable while a signal waits that would interrupt this process. It is not taken.
Descriptor pending_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return Descriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

class PeerWatch::State {
 public:
  State(SharedRegion memory, PeerLinks kept, std::function<void()> interrupted)
      : region_(std::move(memory)),
        links_(std::move(kept)),
        on_interrupt_(std::move(interrupted)),
        stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_.is_open())
      throw run_error("the other ranks cannot be watched",
                      "check the limit of open files (ulimit -n)");
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
    for (const PeerLink& peer : links_.peers)
      if (peer.socket.is_open()) (void)send_message(peer.socket, kGoodbye);
  }

 private:
  static pollfd watched(const Descriptor& descriptor) {
    return {.fd = descriptor.number(), .events = POLLIN, .revents = 0};
  }

  /// False once this rank has done.
  bool look() {
    std::vector<pollfd> events{watched(stop_), watched(links_.listener), watched(interrupts_)};
    for (const PeerLink& peer : links_.peers) events.push_back(watched(peer.socket));
    if (poll(events.data(), events.size(), -1) < 0) return true;
    if (events[0].revents != 0) return false;
    if (events[1].revents != 0) send_away();
    if (events[2].revents != 0) pass_on_interrupt();
    for (std::size_t at = 0; at < links_.peers.size(); ++at)
      if (events[3 + at].revents != 0) hear(links_.peers[at]);
    return true;
  }

  void send_away() const {
    const Descriptor late = accept_from(links_.listener);
    if (late.is_open()) (void)send_message(late, encode_busy());
  }

  void pass_on_interrupt() {
    interrupts_.close();
    (void)send_message(links_.peers.front().socket, kInterrupted);
  }

  void hear(PeerLink& peer) const {
    const SocketMessage message = receive_message(peer.socket);
    if (message.kind == SocketMessage::Kind::none_yet) return;
    if (message.text == kInterrupted) {
      if (on_interrupt_) on_interrupt_();
      return;
    }
    if (message.kind == SocketMessage::Kind::closed) miss(peer.rank);
    peer.socket.close();
  }

  void miss(Size rank) const {
    region_.give_up(rank, fmt::format("its process on {} ended while {}", printable(links_.host),
                                      name_of(PhaseBoard(region_.phases()).phase(rank))));
  }

  SharedRegion region_;
  PeerLinks links_;
  std::function<void()> on_interrupt_;
  Descriptor stop_;
  Descriptor interrupts_;
  std::thread thread_;
};

PeerWatch::PeerWatch(SharedRegion region, PeerLinks links, std::function<void()> on_interrupt)
    : state_(
          std::make_unique<State>(std::move(region), std::move(links), std::move(on_interrupt))) {}

PeerWatch::~PeerWatch() = default;

}  // namespace ptbench
