// The other ranks' side of a meeting.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/process/host_lookup.h"
#include "src/process/local_socket.h"
#include "src/process/network_socket.h"
#include "src/ranks/meeting_errors.h"
#include "src/ranks/rendezvous.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Between two looks for rank 0, on this host and on another.
constexpr Milliseconds kPause{20};
constexpr Milliseconds kPauseBetweenHosts{100};
// For one attempt to reach another host.
constexpr Milliseconds kLongestAttempt{3000};
// For rank 0, which is started with the others, to be here under another host's name.
constexpr Milliseconds kForeignPatience{3000};
// For a job at the same place to end, where jobs follow each other closely.
constexpr Milliseconds kBusyPatience{5000};

/// Rank 0 on this host, once it listens.
Descriptor find_rank_zero_here(const MeetingPoint& point, steady_clock::time_point end) {
  for (;;) {
    int error_number = 0;
    Descriptor socket = connect_to(socket_name(point.job), error_number);
    if (socket.is_open() && belongs_to_this_user(socket)) return socket;
    if (socket.is_open()) throw meeting::taken(point);
    if (error_number != ECONNREFUSED && error_number != EAGAIN && error_number != EINTR)
      throw meeting::refused_by_system("this rank cannot reach rank 0", error_number);
    if (steady_clock::now() >= end) throw meeting::did_not_come("rank 0", point);
    std::this_thread::sleep_for(kPause);
  }
}

/// Rank 0, if it listens on this host. Closed: it does not.
Descriptor rank_zero_here(const MeetingPoint& point) {
  if (point.loopback_joins_hosts) return {};
  int error_number = 0;
  Descriptor socket = connect_to(socket_name(point.job), error_number);
  return socket.is_open() && belongs_to_this_user(socket) ? std::move(socket) : Descriptor();
}

/// Rank 0 where the address may lead to another host, once it listens. An address may be none of
/// this host's, and yet name a meeting of ranks that are all here.
Descriptor find_rank_zero_elsewhere(const MeetingPoint& point, steady_clock::time_point end) {
  HostLookUp host;
  for (;;) {
    if (Descriptor socket = rank_zero_here(point); socket.is_open()) return socket;
    const auto now = steady_clock::now();
    if (!host.addresses)
      host = look_up(point.address.host, point.address.port, std::min(end, now + kLongestLookUp));
    std::string why;
    if (Descriptor socket = connect_to(host, std::min(end, now + kLongestAttempt), why);
        socket.is_open()) {
      // One of this host has begun to listen here before it did so at its port.
      Descriptor nearer = rank_zero_here(point);
      return nearer.is_open() ? std::move(nearer) : std::move(socket);
    }
    if (steady_clock::now() >= end)
      throw meeting::did_not_come(
          "rank 0", point,
          fmt::format(", and port {} does not answer ({})", point.address.port, why));
    std::this_thread::sleep_for(kPauseBetweenHosts);
  }
}

/// Where the address is another host's, and ranks must be on one: that all are here under a
/// foreign name is found soon, as they are started together.
Descriptor find_rank_zero_under_foreign_name(const MeetingPoint& point,
                                             steady_clock::time_point end) {
  const auto soon = std::min(end, steady_clock::now() + kForeignPatience);
  for (;;) {
    if (Descriptor socket = rank_zero_here(point); socket.is_open()) return socket;
    if (steady_clock::now() >= soon)
      throw capability_error(
          fmt::format("rank 0 is not on this host, and {} is '{}', which is another: several hosts "
                      "need a communicator between hosts",
                      point.address.variable, printable(point.address.host)),
          std::string(kRemedyForHosts));
    std::this_thread::sleep_for(kPause);
  }
}

using FindRankZero = Descriptor (*)(const MeetingPoint&, steady_clock::time_point);

FindRankZero way_to_rank_zero(const MeetingPoint& point) {
  if (point.address.port == 0) return find_rank_zero_here;
  if (point.loopback_joins_hosts) return find_rank_zero_elsewhere;
  const Whereabouts where = whereabouts_of(point.address.host);
  if (where == Whereabouts::here || where == Whereabouts::loopback) return find_rank_zero_here;
  if (point.hosts != HostsOfRanks::one) return find_rank_zero_elsewhere;
  return where == Whereabouts::elsewhere ? find_rank_zero_under_foreign_name : find_rank_zero_here;
}

/// As rank 0 on the other side of `socket` knows the job.
RankCard card_for(const RankCard& own, const Descriptor& socket) {
  RankCard card = own;
  if (is_network_socket(socket)) card.job = job_between_hosts(own.job);
  return card;
}

void require_sense(const RankCard& own, const Welcome& welcome) {
  if (std::ssize(welcome.local_ranks) != own.world_size ||
      std::ssize(welcome.hosts) != own.world_size)
    throw run_error(fmt::format("rank 0 knows of {} ranks, but there are {}",
                                welcome.local_ranks.size(), own.world_size),
                    "start all ranks with the same ptbench");
  if (std::ranges::any_of(welcome.local_ranks,
                          [&](Size local) { return local < 0 || local >= own.world_size; }))
    throw run_error(fmt::format("rank 0 names local ranks {} in a world of {}",
                                fmt::join(welcome.local_ranks, ", "), own.world_size),
                    "start all ranks with the same ptbench");
}

SharedRegion region_of(const RankCard& own, SocketMessage message) {
  SharedRegion region = SharedRegion::open(message.descriptor.release());
  if (region.world_size() != own.world_size)
    throw run_error(fmt::format("rank 0 shares memory for {} ranks, and there are {}",
                                region.world_size(), own.world_size),
                    "start all ranks with the same ptbench");
  return region;
}

Admission take(const RankCard& own, Welcome welcome, SocketMessage message, Descriptor socket) {
  require_sense(own, welcome);
  const bool are_apart = welcome.door.port != 0;
  Admission admission{.welcome = std::move(welcome),
                      .links = {.rank = own.rank, .host = own.host, .are_apart = are_apart}};
  if (!are_apart) admission.region = region_of(own, std::move(message));
  admission.links.peers.push_back({.rank = 0,
                                   .host = admission.welcome.hosts.front(),
                                   .process = peer_process(socket),
                                   .socket = std::move(socket)});
  return admission;
}

bool is_admitted(const RankAnswer& answer, const SocketMessage& message) {
  return !answer.busy && (message.descriptor.is_open() || answer.welcome.door.port != 0);
}

}  // namespace

Admission join_ranks(const RankCard& own, const MeetingPoint& point) {
  const auto begin = steady_clock::now();
  const FindRankZero find_rank_zero = way_to_rank_zero(point);
  for (;;) {
    Descriptor socket = find_rank_zero(point, begin + point.timeout);
    // A rank that is refused before it was heard still gets an answer.
    (void)send_message(socket, encode(card_for(own, socket)));
    const auto end = steady_clock::now() + point.timeout + meeting::kAnswerGrace;
    SocketMessage message = receive_message(socket, end);
    const std::optional<RankAnswer> answer = decode_answer(message.text);
    if (answer && answer->refusal) throw Error(*answer->refusal);
    if (answer && is_admitted(*answer, message))
      return take(own, answer->welcome, std::move(message), std::move(socket));
    if (message.kind == SocketMessage::Kind::none_yet)
      throw run_error(fmt::format("rank 0 did not answer within {:g} s",
                                  meeting::seconds_of(point.timeout + meeting::kAnswerGrace)),
                      "see whether its process was stopped");
    if (message.kind == SocketMessage::Kind::closed)
      throw run_error("rank 0 ended before all ranks had come", "see what it reported");
    if (steady_clock::now() >= begin + std::min(point.timeout, kBusyPatience))
      throw meeting::taken(point);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace ptbench
