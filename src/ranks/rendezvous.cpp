#include "src/ranks/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/hash.h"
#include "src/base/log.h"
#include "src/comm/operation_text.h"
#include "src/process/local_socket.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Between two looks for rank 0.
constexpr Milliseconds kPause{20};
// Rank 0 answers within its own time, which may have begun later.
constexpr Milliseconds kAnswerGrace{2000};
// For a job at the same place to end, where jobs follow each other closely.
constexpr Milliseconds kBusyPatience{5000};
// Connections beside those of the ranks.
constexpr std::size_t kMostStrangers = 64;

double seconds_of(Milliseconds duration) { return std::chrono::duration<double>(duration).count(); }

Error did_not_come(const std::string& who, const MeetingPoint& point) {
  return run_error(
      fmt::format("{} did not come to {} within {:g} s{}", who, point.place,
                  seconds_of(point.timeout), doubt_about(point.address, socket_name(point.job))),
      remedy_for(point.address));
}

Error taken(const MeetingPoint& point) {
  return usage_error(fmt::format("another job uses {}", point.place),
                     "give this one another port: PTBENCH_ADDR=host:port");
}

Error refused_by_system(std::string_view what, int error_number) {
  return run_error(fmt::format("{}: {}", what, std::generic_category().message(error_number)),
                   "check the limit of open files (ulimit -n)");
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

/// Why a rank of the same job cannot be one of `own`'s.
std::optional<Error> objection(const RankCard& own, const Introduction& other) {
  const RankCard& card = other.card;
  if (!other.speaks_alike || card.version != printable(own.version))
    return usage_error(fmt::format("rank {} is {}, and rank {} is {}", own.rank,
                                   printable(own.version), card.rank, card.version),
                       "start all ranks with the same ptbench");
  if (card.world_size != own.world_size) return other_world(own, card);
  if (card.rank >= own.world_size)
    return usage_error(fmt::format("rank {} is none of {} ranks", card.rank, own.world_size),
                       "count ranks from 0");
  if (card.host != own.host)
    return capability_error(
        fmt::format("rank {} is on {}, rank {} on {}: several hosts need a communicator between "
                    "hosts, which this build does not have",
                    own.rank, printable(own.host), card.rank, printable(card.host)),
        "start all ranks on one host");
  return difference(own, other);
}

/// The share of each rank, from the cores of all.
std::vector<CoreShare> shares_of(const std::vector<std::vector<int>>& cpus) {
  std::set<int> all;
  std::vector<CoreShare> shares(cpus.size());
  Size threads = 0;
  for (std::size_t rank = 0; rank < cpus.size(); ++rank) {
    all.insert(cpus[rank].begin(), cpus[rank].end());
    const auto alike = [&](const std::vector<int>& other) { return other == cpus[rank]; };
    const auto here = cpus.begin() + static_cast<std::ptrdiff_t>(rank);
    shares[rank].index = std::count_if(cpus.begin(), here, alike);
    const Size sharers = std::ranges::count_if(cpus, alike);
    const Size fit = std::max<Size>(1, std::ssize(cpus[rank]) / sharers);
    threads = rank == 0 ? fit : std::min(threads, fit);
  }
  for (CoreShare& share : shares) {
    share.cores = std::max(1, static_cast<int>(all.size()));
    share.threads = threads;
  }
  return shares;
}

/// By the kernel's word: who connected, or who listened.
int process_behind(const Descriptor& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const int failed = getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return failed == 0 ? peer.pid : 0;
}

PeerLink link_to(Size rank, Descriptor socket) {
  const int process = process_behind(socket);
  return {.rank = rank, .socket = std::move(socket), .process = process};
}

}  // namespace

std::string socket_name(std::string_view job) {
  return fmt::format("ptbench-ranks/{}/{:016x}", getuid(), fnv1a(job));
}

class RankGathering::State {
 public:
  State(RankCard card, MeetingPoint meeting)
      : own(std::move(card)),
        point(std::move(meeting)),
        end(steady_clock::now() + point.timeout),
        peers(static_cast<std::size_t>(own.world_size)),
        cpus(peers.size()),
        local_ranks(peers.size()) {
    cpus.front() = own.cpus;
    local_ranks.front() = own.local_rank;
  }

  void listen() {
    int error_number = 0;
    listener = listen_at(socket_name(point.job), error_number);
    if (listener.is_open()) return;
    if (error_number != EADDRINUSE)
      throw refused_by_system("rank 0 cannot listen for the others", error_number);
    throw ask_listener();
  }

  [[nodiscard]] std::vector<Size> missing() const {
    std::vector<Size> ranks;
    for (std::size_t rank = 1; rank < peers.size(); ++rank)
      if (!peers[rank].is_open()) ranks.push_back(static_cast<Size>(rank));
    return ranks;
  }

  /// Once all are there.
  void require_different_local_ranks() const {
    for (auto one = local_ranks.begin(); one != local_ranks.end(); ++one)
      if (const auto other = std::find(local_ranks.begin(), one, *one); other != one)
        throw usage_error(fmt::format("ranks {} and {} both say that they are local rank {}",
                                      other - local_ranks.begin(), one - local_ranks.begin(), *one),
                          "give each rank of a host a local rank of its own, or give none");
  }

  /// Waits for something to happen, and sees to it.
  void look() {
    std::vector<pollfd> events{watched(listener)};
    for (const Descriptor& stranger : strangers) events.push_back(watched(stranger));
    for (const Descriptor& peer : peers)
      events.push_back(watched(peer));  // poll passes over those that are closed
    if (poll(events.data(), events.size(), poll_timeout(end)) <= 0) return;
    const auto known = events.begin() + 1 + std::ssize(strangers);
    for (std::size_t rank = 0; rank < peers.size(); ++rank)
      if (known[static_cast<std::ptrdiff_t>(rank)].revents != 0) look_at(rank);
    std::vector<Descriptor> waiting = std::exchange(strangers, {});
    for (std::size_t at = 0; at < waiting.size(); ++at) {
      if (events[1 + at].revents != 0)
        hear(std::move(waiting[at]));
      else
        strangers.push_back(std::move(waiting[at]));
    }
    if (events.front().revents != 0) accept();
  }

  /// One that is no rank of this job. A flood of them is told once.
  void turn_away(const Descriptor& stranger) {
    (void)send_message(stranger, encode_busy());
    if (std::exchange(has_warned, true)) return;
    log_warning(
        fmt::format("somebody connected where the ranks meet ({}) who is none of them, and "
                    "was sent away; remedy: see whether another job has the same place, and "
                    "give each its own: PTBENCH_ADDR=host:port",
                    point.place));
  }

  void send_home(const Error& error) noexcept {
    const std::string refusal = encode_refusal(error);
    for (const auto* group : {&strangers, &peers})
      for (const Descriptor& socket : *group)
        if (socket.is_open()) (void)send_message(socket, refusal);
    listener.close();
    strangers.clear();
    for (Descriptor& peer : peers) peer.close();
  }

  RankCard own;
  MeetingPoint point;
  steady_clock::time_point end;
  Descriptor listener;
  std::vector<Descriptor> strangers;  ///< who have not said yet who they are
  std::vector<Descriptor> peers;      ///< by rank; the first stays closed
  std::vector<std::vector<int>> cpus;
  std::vector<Size> local_ranks;
  bool has_warned = false;  ///< of strangers

 private:
  static pollfd watched(const Descriptor& socket) {
    return {.fd = socket.number(), .events = POLLIN, .revents = 0};
  }

  /// Whoever listens here already: a rank 0 that waits for its ranks as well learns of this one.
  [[nodiscard]] Error ask_listener() const {
    int error_number = 0;
    const Descriptor socket = connect_to(socket_name(point.job), error_number);
    if (!socket.is_open() || !belongs_to_this_user(socket)) return taken(point);
    (void)send_message(socket, encode(own));
    const SocketMessage message = receive_message(socket, steady_clock::now() + kAnswerGrace);
    const auto answer = decode_answer(message.text);
    return answer && answer->refusal ? *answer->refusal : taken(point);
  }

  void accept() {
    Descriptor stranger = accept_from(listener);
    if (!stranger.is_open()) return;
    if (!belongs_to_this_user(stranger)) {
      turn_away(stranger);
      return;
    }
    // Ranks say at once who they are: who has said nothing for longest is none.
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

  void hear(Descriptor stranger) {
    const SocketMessage message = receive_message(stranger);
    if (message.kind == SocketMessage::Kind::none_yet) {
      strangers.push_back(std::move(stranger));
      return;
    }
    const auto introduction = decode_card(message.text);
    if (!introduction || (introduction->speaks_alike && introduction->card.job != point.job)) {
      turn_away(stranger);
      return;
    }
    std::optional<Error> wrong = objection(own, *introduction);
    const auto rank = static_cast<std::size_t>(introduction->card.rank);
    if (!wrong && (rank == 0 || peers[rank].is_open()))
      wrong = started_twice(introduction->card.rank, point);
    if (wrong) {
      strangers.push_back(std::move(stranger));  // to be told too
      throw Error(*wrong);
    }
    peers[rank] = std::move(stranger);
    cpus[rank] = introduction->card.cpus;
    local_ranks[rank] = introduction->card.local_rank;
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
        throw did_not_come(fmt::format("{} of {}", ranks_text(missing), state_->own.world_size),
                           state_->point);
      state_->look();
    }
  } catch (const Error& error) {
    refuse(error);
    throw;
  }
}

CoreShare RankGathering::cores() const { return shares_of(state_->cpus).front(); }

const std::vector<Size>& RankGathering::local_ranks() const { return state_->local_ranks; }

PeerLinks RankGathering::admit(const SharedRegion& region) {
  const std::vector<CoreShare> shares = shares_of(state_->cpus);
  PeerLinks links{
      .rank = 0, .host = state_->own.host, .peers = {}, .listener = std::move(state_->listener)};
  for (std::size_t rank = 1; rank < state_->peers.size(); ++rank) {
    // One that has ended meanwhile is missed by its link.
    (void)send_message(state_->peers[rank], encode(shares[rank], state_->local_ranks),
                       region.descriptor());
    links.peers.push_back(link_to(static_cast<Size>(rank), std::move(state_->peers[rank])));
  }
  for (const Descriptor& stranger : state_->strangers) state_->turn_away(stranger);
  state_->strangers.clear();
  return links;
}

void RankGathering::refuse(const Error& error) noexcept { state_->send_home(error); }

namespace {

/// Rank 0, once it listens.
Descriptor find_rank_zero(const MeetingPoint& point, steady_clock::time_point end) {
  for (;;) {
    int error_number = 0;
    Descriptor socket = connect_to(socket_name(point.job), error_number);
    if (socket.is_open() && belongs_to_this_user(socket)) return socket;
    if (socket.is_open()) throw taken(point);
    if (error_number != ECONNREFUSED && error_number != EAGAIN && error_number != EINTR)
      throw refused_by_system("this rank cannot reach rank 0", error_number);
    if (steady_clock::now() >= end) throw did_not_come("rank 0", point);
    std::this_thread::sleep_for(kPause);
  }
}

Admission take(const RankCard& own, const RankAnswer& answer, SocketMessage message,
               Descriptor socket) {
  SharedRegion region = SharedRegion::open(message.descriptor.release());
  if (region.world_size() != own.world_size || std::ssize(answer.local_ranks) != own.world_size)
    throw run_error(fmt::format("rank 0 shares memory for {} ranks, and there are {}",
                                region.world_size(), own.world_size),
                    "start all ranks with the same ptbench");
  if (std::ranges::any_of(answer.local_ranks,
                          [&](Size local) { return local < 0 || local >= own.world_size; }))
    throw run_error(fmt::format("rank 0 tells of local ranks {} in a world of {}",
                                fmt::join(answer.local_ranks, ", "), own.world_size),
                    "start all ranks with the same ptbench");
  Admission admission{.region = std::move(region),
                      .cores = answer.cores,
                      .local_ranks = answer.local_ranks,
                      .links = {.rank = own.rank, .host = own.host, .peers = {}, .listener = {}}};
  admission.links.peers.push_back(link_to(0, std::move(socket)));
  return admission;
}

}  // namespace

Admission join_ranks(const RankCard& own, const MeetingPoint& point) {
  const auto begin = steady_clock::now();
  for (;;) {
    Descriptor socket = find_rank_zero(point, begin + point.timeout);
    (void)send_message(socket, encode(own));  // who is refused unheard has an answer all the same
    const auto end = steady_clock::now() + point.timeout + kAnswerGrace;
    SocketMessage message = receive_message(socket, end);
    const std::optional<RankAnswer> answer = decode_answer(message.text);
    if (answer && answer->refusal) throw Error(*answer->refusal);
    if (answer && !answer->busy && message.descriptor.is_open())
      return take(own, *answer, std::move(message), std::move(socket));
    if (message.kind == SocketMessage::Kind::none_yet)
      throw run_error(fmt::format("rank 0 did not answer within {:g} s",
                                  seconds_of(point.timeout + kAnswerGrace)),
                      "see whether its process was stopped");
    if (message.kind == SocketMessage::Kind::closed)
      throw run_error("rank 0 ended before all ranks had come", "see what it reported");
    if (steady_clock::now() >= begin + std::min(point.timeout, kBusyPatience)) throw taken(point);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace ptbench
