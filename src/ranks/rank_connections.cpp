#include "src/ranks/rank_connections.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/star/star_links.h"
#include "src/process/local_socket.h"
#include "src/process/network_socket.h"
#include "src/ranks/meeting_errors.h"
#include "src/ranks/rank_card.h"

namespace ptbench {
namespace {

/// Without one, ranks have met on one machine, by a socket that has no address.
std::string host_of(const MeetingPoint& point) {
  return point.address.host.empty() ? "127.0.0.1" : point.address.host;
}

StarPatience patience_of(const MeetingPoint& point) {
  return {.end = std::chrono::steady_clock::now() + point.timeout};
}

/// Throws what a rank that has ended was refused, where it said so.
void require_all_there(const PeerLinks& links) {
  for (const PeerLink& peer : links.peers) {
    pollfd event{.fd = peer.socket.number(), .events = POLLRDHUP, .revents = 0};
    if (poll(&event, 1, 0) <= 0) continue;
    const std::string name = fmt::format("rank {} on {}", peer.rank, printable(peer.host));
    if (const auto told = decode_answer(peek_message(peer.socket).text); told && told->refusal)
      throw Error(told->refusal->code(), fmt::format("{}: {}", name, told->refusal->what()),
                  told->refusal->remedy());
    throw run_error(fmt::format("{} ended before all ranks were connected", name),
                    "see what that rank reported");
  }
}

/// Where rank 0's watch has begun, all are connected.
void require_rank_zero(const PeerLink& zero) {
  const SocketMessage message = peek_message(zero.socket);
  const auto answer = decode_answer(message.text);
  if (answer && answer->refusal) throw Error(*answer->refusal);
  if (message.kind == SocketMessage::Kind::closed)
    throw run_error(
        fmt::format("rank 0 on {} ended before all ranks were connected", printable(zero.host)),
        "see what that rank reported");
}

/// As its host was reached before.
std::string host_of_rank_zero(const PeerLink& zero, const MeetingPoint& point) {
  return is_network_socket(zero.socket) ? peer_address(zero.socket).host : host_of(point);
}

std::unique_ptr<RanksApart> with_words(StarLinks star, std::string address,
                                       const SharedRegion& region, const Welcome& welcome) {
  std::vector<Size> everyone(welcome.hosts.size());
  std::iota(everyone.begin(), everyone.end(), Size{0});
  RanksApart apart{.hosts = welcome.hosts,
                   .words = std::make_unique<StarCommunicator>(
                       region, std::move(star), std::move(everyone), std::move(address))};
  return std::make_unique<RanksApart>(std::move(apart));
}

}  // namespace

bool are_apart(const std::vector<std::string>& hosts) {
  return std::ranges::adjacent_find(hosts, std::ranges::not_equal_to()) != hosts.end();
}

OpenDoor open_door(const MeetingPoint& point) {
  std::string why;
  OpenDoor open{.listener = listen_at(NetworkAddress{.host = host_of(point)}, why), .door = {}};
  if (!open.listener.is_open())
    throw run_error(fmt::format("rank 0 cannot listen at {}: {}", printable(host_of(point)), why),
                    "give an address of rank 0's host: PTBENCH_ADDR=host:port, for all ranks");
  open.door = {.port = own_address(open.listener).port, .secret = new_secret()};
  return open;
}

std::unique_ptr<RanksApart> connect_to_ranks(const OpenDoor& open, const SharedRegion& region,
                                             const Welcome& welcome, const MeetingPoint& point,
                                             const PeerLinks& links) {
  StarPatience patience = patience_of(point);
  patience.look = [&links] { require_all_there(links); };
  try {
    StarLinks star =
        accept_star(open.listener, std::ssize(welcome.hosts), open.door.secret, patience);
    return with_words(std::move(star), own_address(open.listener).host, region, welcome);
  } catch (const Error& error) {
    for (const PeerLink& peer : links.peers) (void)send_message(peer.socket, encode_refusal(error));
    throw;
  }
}

std::unique_ptr<RanksApart> connect_to_rank_zero(const SharedRegion& region, const Welcome& welcome,
                                                 const MeetingPoint& point,
                                                 const PeerLinks& links) {
  const PeerLink& zero = links.peers.front();
  const NetworkAddress hub{.host = host_of_rank_zero(zero, point), .port = welcome.door.port};
  StarPatience patience = patience_of(point);
  patience.end += meeting::kAnswerGrace;  // rank 0 says sooner who has not come
  patience.look = [&zero] { require_rank_zero(zero); };
  StarLinks star = join_star(hub, links.rank, welcome.door.secret, patience);
  std::string address = own_address(star.links.front()).host;
  return with_words(std::move(star), std::move(address), region, welcome);
}

}  // namespace ptbench
