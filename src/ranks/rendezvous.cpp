#include "src/ranks/rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/base/hash.h"
#include "src/base/log.h"
#include "src/comm/operation_text.h"
#include "src/process/local_socket.h"
#include "src/process/network_socket.h"
#include "src/ranks/core_shares.h"
#include "src/ranks/meeting_errors.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;

// Connections beside those of the ranks.
constexpr std::size_t kMostStrangers = 64;

/// This user's, or the number of one without.
std::string user_name() {
  constexpr std::size_t kMostUserText = 16 << 10U;
  std::vector<char> texts(kMostUserText);
  passwd user{};
  passwd* found = nullptr;
  (void)getpwuid_r(getuid(), &user, texts.data(), texts.size(), &found);
  return found == nullptr ? fmt::format("{}", getuid()) : user.pw_name;
}

Error started_twice(Size rank, const MeetingPoint& point) {
  return usage_error(
      fmt::format("rank {} was started twice, or two jobs use {}", rank, point.place),
      "start each rank once, and give each job a port of its own: PTBENCH_ADDR=host:port");
}

/// The two worlds, as their ranks say.
Error other_world(const RankCard& own, const RankCard& other) {
  return usage_error(fmt::format("rank {} was started as one of {} ranks, rank {} as one of {}",
                                 own.rank, own.world_size, other.rank, other.world_size),
                     "start all ranks with the same world size");
}

/// One that came from another host, and says that it is on this one.
Error same_name(const RankCard& own, const RankCard& other) {
  return usage_error(fmt::format("ranks {} and {} are on two hosts that are both called '{}'",
                                 own.rank, other.rank, printable(own.host)),
                     "give each host a name of its own: PTBENCH_HOST_ID");
}

/// Why a rank of the same job cannot be one of `own`'s.
std::optional<Error> objection(const RankCard& own, const Introduction& other, HostsOfRanks hosts) {
  const RankCard& card = other.card;
  if (!other.speaks_alike || card.version != printable(own.version))
    return usage_error(fmt::format("rank {} is {}, and rank {} is {}", own.rank,
                                   printable(own.version), card.rank, card.version),
                       "start all ranks with the same ptbench");
  if (card.world_size != own.world_size) return other_world(own, card);
  if (card.rank >= own.world_size)
    return usage_error(fmt::format("rank {} is not one of {} ranks", card.rank, own.world_size),
                       "count ranks from 0");
  if (card.host != own.host && hosts == HostsOfRanks::one)
    return capability_error(
        fmt::format("rank {} is on {}, rank {} on {}: several hosts need a communicator between "
                    "hosts",
                    own.rank, printable(own.host), card.rank, printable(card.host)),
        std::string(kRemedyForHosts));
  return difference(own, other);
}

}  // namespace

std::string socket_name(std::string_view job) {
  return fmt::format("ptbench-ranks/{}/{:016x}", getuid(), fnv1a(job));
}

std::string job_between_hosts(std::string_view job) {
  return fmt::format("{} of {}", job, user_name());
}

class RankGathering::State {
 public:
  State(RankCard card, MeetingPoint meeting)
      : own(std::move(card)),
        point(std::move(meeting)),
        network_job(job_between_hosts(point.job)),
        end(steady_clock::now() + point.timeout),
        peers(static_cast<std::size_t>(own.world_size)),
        cards(peers.size()) {
    cards.front() = own;
  }

  void listen() {
    int error_number = 0;
    listener = listen_at(socket_name(point.job), error_number);
    if (!listener.is_open() && error_number != EADDRINUSE)
      throw meeting::refused_by_system("rank 0 cannot listen for the others", error_number);
    if (!listener.is_open()) throw ask_listener();
    if (point.hosts != HostsOfRanks::one && point.address.port != 0) listen_for_hosts();
  }

  [[nodiscard]] std::vector<Size> missing() const {
    std::vector<Size> ranks;
    for (std::size_t rank = 1; rank < peers.size(); ++rank)
      if (!peers[rank].is_open()) ranks.push_back(static_cast<Size>(rank));
    return ranks;
  }

  /// Once all are there.
  void require_different_local_ranks() const {
    for (auto one = cards.begin(); one != cards.end(); ++one) {
      const auto other = std::find_if(cards.begin(), one, [&](const RankCard& card) {
        return card.host == one->host && card.local_rank == one->local_rank;
      });
      if (other != one)
        throw usage_error(fmt::format("ranks {} and {} both say that they are local rank {}",
                                      other->rank, one->rank, one->local_rank),
                          "give each rank of a host a local rank of its own, or give none");
    }
  }

  /// Waits for something to happen, and sees to it.
  void look() {
    std::vector<pollfd> events{watched(listener), watched(listener_for_hosts)};
    for (const Descriptor& stranger : strangers) events.push_back(watched(stranger));
    for (const Descriptor& peer : peers)
      events.push_back(watched(peer));  // poll passes over those that are closed
    if (poll(events.data(), events.size(), poll_timeout(end)) <= 0) return;
    const auto known = events.begin() + 2 + std::ssize(strangers);
    for (std::size_t rank = 0; rank < peers.size(); ++rank)
      if (known[static_cast<std::ptrdiff_t>(rank)].revents != 0) look_at(rank);
    std::vector<Descriptor> waiting = std::exchange(strangers, {});
    for (std::size_t at = 0; at < waiting.size(); ++at) {
      if (events[2 + at].revents != 0)
        hear(std::move(waiting[at]));
      else
        strangers.push_back(std::move(waiting[at]));
    }
    if (events[0].revents != 0) accept(listener);
    if (events[1].revents != 0) accept(listener_for_hosts);
  }

  [[nodiscard]] bool are_apart() const {
    return std::ranges::any_of(cards, [&](const RankCard& card) { return card.host != own.host; });
  }

  /// Rank 0's; others have other cores.
  /// Who was not told of local ranks takes them to be the ranks, which on other hosts than the
  /// first they are not: there they are the places among the host's ranks.
  [[nodiscard]] Size local_rank_of(const RankCard& card) const {
    const auto on_host = [&](const RankCard& other) { return other.host == card.host; };
    const auto as_rank = [](const RankCard& other) { return other.local_rank == other.rank; };
    Size place = 0;
    for (const RankCard& other : cards) {
      if (!on_host(other)) continue;
      if (!as_rank(other)) return card.local_rank;
      if (other.rank < card.rank) ++place;
    }
    return place;
  }

  [[nodiscard]] Welcome welcome() const {
    Welcome welcome{.cores = shares_of(cards).front()};
    for (const RankCard& card : cards) {
      welcome.local_ranks.push_back(local_rank_of(card));
      welcome.hosts.push_back(card.host);
    }
    return welcome;
  }

  /// What each rank is told, as messages, by rank.
  [[nodiscard]] std::vector<std::string> welcomes(const Door& door) const {
    Welcome told = welcome();
    told.door = door;
    std::vector<std::string> messages = encode(told, shares_of(cards));
    for (const std::string& message : messages)
      if (message.size() > kMostMessage)
        throw run_error(
            fmt::format(
                "the host names of {} ranks take {} bytes, more than rank 0 can send to the others",
                own.world_size, message.size()),
            "give the hosts shorter names (PTBENCH_HOST_ID), or use fewer");
    return messages;
  }

  /// One that is no rank of this job. A flood of them is told once.
  void turn_away(const Descriptor& stranger) {
    (void)send_message(stranger, encode_busy());
    if (std::exchange(has_warned, true)) return;
    log_warning(fmt::format(
        "a stranger connected where the ranks meet ({}), and was sent away; remedy: check whether "
        "another job uses the same place, and give each its own: PTBENCH_ADDR=host:port",
        point.place));
  }

  void send_home(const Error& error) noexcept {
    const std::string refusal = encode_refusal(error);
    for (const auto* group : {&strangers, &peers})
      for (const Descriptor& socket : *group)
        if (socket.is_open()) (void)send_message(socket, refusal);
    listener.close();
    listener_for_hosts.close();
    strangers.clear();
    for (Descriptor& peer : peers) peer.close();
  }

  RankCard own;
  MeetingPoint point;
  std::string network_job;  ///< the job as ranks of other hosts call it
  steady_clock::time_point end;
  Descriptor listener;
  Descriptor listener_for_hosts;
  std::vector<Descriptor> strangers;  ///< who have not said yet who they are
  std::vector<Descriptor> peers;      ///< by rank; the first stays closed
  std::vector<RankCard> cards;        ///< by rank
  bool has_warned = false;            ///< of strangers
  std::string deafness;               ///< why no other host can reach rank 0, after "; "

 private:
  static pollfd watched(const Descriptor& socket) {
    return {.fd = socket.number(), .events = POLLIN, .revents = 0};
  }

  /// Whoever listens here already: a rank 0 that waits for its ranks as well learns of this one.
  [[nodiscard]] Error ask_listener() const {
    int error_number = 0;
    const Descriptor socket = connect_to(socket_name(point.job), error_number);
    if (!socket.is_open() || !belongs_to_this_user(socket)) return meeting::taken(point);
    (void)send_message(socket, encode(own));
    const SocketMessage message =
        receive_message(socket, steady_clock::now() + meeting::kAnswerGrace);
    const auto answer = decode_answer(message.text);
    return answer && answer->refusal ? *answer->refusal : meeting::taken(point);
  }

  /// Where that is known to be needed, it must succeed; else who misses others learns why not.
  void listen_for_hosts() {
    const Whereabouts where = whereabouts_for_others();
    std::string why;
    if (where == Whereabouts::here)
      listener_for_hosts = listen_at({.host = point.address.host, .port = point.address.port}, why);
    if (listener_for_hosts.is_open()) return;
    why = why_unreachable(where, why);
    if (point.hosts == HostsOfRanks::several)
      throw usage_error(
          why + ", and ranks are on several hosts",
          "give an address of rank 0's host that the others can reach, and a free port");
    // That of an address which is not this host's they learn anyway (doubt_about).
    if (where != Whereabouts::elsewhere && where != Whereabouts::nowhere)
      deafness = "; other hosts cannot reach rank 0: " + why;
  }

  [[nodiscard]] Whereabouts whereabouts_for_others() const {
    const Whereabouts where = whereabouts_of(point.address.host);
    const bool is_network = where == Whereabouts::loopback && point.loopback_joins_hosts;
    return is_network ? Whereabouts::here : where;
  }

  /// `refusal`: the system's, where the address is this host's.
  [[nodiscard]] std::string why_unreachable(Whereabouts where, const std::string& refusal) const {
    const std::string host = printable(point.address.host);
    if (where == Whereabouts::here)
      return fmt::format("rank 0 cannot listen for other hosts at {} port {}: {}", host,
                         point.address.port, refusal);
    const bool is_loopback = where == Whereabouts::loopback;
    const bool is_known = where != Whereabouts::not_known;
    return fmt::format("{} is '{}', which is {}", point.address.variable, host,
                       is_loopback ? "this host for itself alone"
                       : is_known  ? "not an address of rank 0's host"
                                   : "a name that the resolver does not answer for");
  }

  void accept(const Descriptor& from) {
    Descriptor stranger = accept_needed(from);
    if (!stranger.is_open()) return;
    const bool is_of_network = is_network_socket(stranger);
    if (is_of_network) make_prompt(stranger);
    if (!is_of_network && !belongs_to_this_user(stranger)) {
      turn_away(stranger);
      return;
    }
    // Ranks say at once who they are: the caller that has been silent for longest is none.
    if (strangers.size() >= peers.size() + kMostStrangers) {
      turn_away(strangers.front());
      strangers.erase(strangers.begin());
    }
    strangers.push_back(std::move(stranger));
  }

  /// A rank that has come says nothing more until it is answered.
  void look_at(std::size_t rank) const {
    if (receive_message(peers[rank]).kind != SocketMessage::Kind::closed) return;
    throw run_error(fmt::format("rank {} ended before all ranks had come", rank),
                    "see what that rank reported");
  }

  /// A rank of another version on this host is one of this job, whose socket it knows; anybody
  /// reaches a port.
  [[nodiscard]] bool belongs_here(const Introduction& other, bool is_of_network) const {
    if (is_of_network) return other.card.job == network_job;
    return !other.speaks_alike || other.card.job == point.job;
  }

  void hear(Descriptor stranger) {
    const SocketMessage message = receive_message(stranger);
    if (message.kind == SocketMessage::Kind::none_yet) {
      strangers.push_back(std::move(stranger));
      return;
    }
    const bool is_of_network = is_network_socket(stranger);
    const auto introduction = decode_card(message.text);
    if (!introduction || !belongs_here(*introduction, is_of_network)) {
      turn_away(stranger);
      return;
    }
    std::optional<Error> wrong = objection(own, *introduction, point.hosts);
    if (!wrong && is_of_network && introduction->card.host == own.host)
      wrong = same_name(own, introduction->card);
    const auto rank = static_cast<std::size_t>(introduction->card.rank);
    if (!wrong && (rank == 0 || peers[rank].is_open()))
      wrong = started_twice(introduction->card.rank, point);
    if (wrong) {
      strangers.push_back(std::move(stranger));  // to be told too
      throw Error(*wrong);
    }
    peers[rank] = std::move(stranger);
    cards[rank] = introduction->card;
    cards[rank].options.clear();
  }
};

RankGathering::RankGathering(RankCard own, MeetingPoint point)
    : state_(std::make_unique<State>(std::move(own), std::move(point))) {
  state_->listen();
}

RankGathering::~RankGathering() = default;

void RankGathering::gather() {
  try {
    for (;;) {
      const std::vector<Size> missing = state_->missing();
      if (missing.empty()) return state_->require_different_local_ranks();
      if (steady_clock::now() >= state_->end)
        throw meeting::did_not_come(
            fmt::format("{} of {}", ranks_text(missing), state_->own.world_size), state_->point,
            state_->deafness);
      state_->look();
    }
  } catch (const Error& error) {
    refuse(error);
    throw;
  }
}

Welcome RankGathering::welcome() const { return state_->welcome(); }

PeerLinks RankGathering::admit(const SharedRegion& region, const Door& door) {
  const std::vector<std::string> welcomes = state_->welcomes(door);
  PeerLinks links{.rank = 0,
                  .host = state_->own.host,
                  .are_apart = state_->are_apart(),
                  .listener = std::move(state_->listener)};
  for (std::size_t rank = 1; rank < state_->peers.size(); ++rank) {
    Descriptor& peer = state_->peers[rank];
    // One that has ended meanwhile is missed by its link.
    (void)send_message(peer, welcomes[rank], links.are_apart ? -1 : region.descriptor());
    links.peers.push_back({.rank = static_cast<Size>(rank),
                           .host = state_->cards[rank].host,
                           .process = peer_process(peer),
                           .socket = std::move(peer)});
  }
  for (const Descriptor& stranger : state_->strangers) state_->turn_away(stranger);
  state_->strangers.clear();
  state_->listener_for_hosts.close();
  return links;
}

void RankGathering::refuse(const Error& error) noexcept { state_->send_home(error); }

}  // namespace ptbench
