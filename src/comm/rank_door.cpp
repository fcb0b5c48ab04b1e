#include "src/comm/rank_door.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace ptbench {

RankDoor::RankDoor(std::size_t rank, std::size_t ranks, const DoorWord& word)
    : rank_(rank), word_(word), connections_(ranks), callers_(ranks) {}

void RankDoor::take_in(RankSocket socket) { callers_.take_in({.socket = std::move(socket)}); }

void RankDoor::hear() {
  callers_.hear([this](Caller& caller) { return who_is(caller); });
}

std::vector<pollfd> RankDoor::events() const {
  std::vector<pollfd> events;
  for (const Caller& caller : callers_.waiting())
    events.push_back({.fd = caller.socket.number(), .events = POLLIN, .revents = 0});
  return events;
}

CallerIs RankDoor::who_is(Caller& caller) {
  const auto rest = std::as_writable_bytes(std::span(&caller.greeting, 1)).subspan(caller.heard);
  const ssize_t came = recv(caller.socket.number(), rest.data(), rest.size(), MSG_DONTWAIT);
  if (came < 0 && (errno == EAGAIN || errno == EINTR)) return CallerIs::silent;
  if (came > 0) caller.heard += static_cast<std::size_t>(came);
  if (came > 0 && caller.heard < sizeof(RankGreeting)) return CallerIs::silent;
  if (caller.heard < sizeof(RankGreeting) || !is_awaited(caller.greeting))
    return CallerIs::stranger;
  connections_[caller.greeting.rank] = std::move(caller.socket);
  return CallerIs::rank;
}

bool RankDoor::is_awaited(const RankGreeting& greeting) const {
  return greeting.word == word_ && greeting.rank > rank_ && greeting.rank < connections_.size() &&
         !connections_[greeting.rank].is_open();
}

std::vector<std::size_t> RankDoor::missing() const {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = rank_ + 1; rank < connections_.size(); ++rank)
    if (!connections_[rank].is_open()) ranks.push_back(rank);
  return ranks;
}

std::vector<RankSocket> RankDoor::take_connections() {
  callers_.send_away();
  return std::move(connections_);
}

}  // namespace ptbench
