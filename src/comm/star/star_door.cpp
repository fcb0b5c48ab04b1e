#include "src/comm/star/star_door.h"

#include <fmt/format.h>
#include <poll.h>

#include <optional>
#include <utility>

#include "src/base/number.h"
#include "src/process/local_socket.h"
#include "src/process/network_socket.h"

namespace ptbench {
namespace {

constexpr std::string_view kStarGreeting = "ptbench star ";

/// Empty for who does not know the secret.
std::optional<Size> rank_in(std::string_view greeting, std::uint64_t secret) {
  const std::string begin = fmt::format("{}{} ", kStarGreeting, secret);
  if (!greeting.starts_with(begin)) return std::nullopt;
  const auto rank = parse_whole(greeting.substr(begin.size()));
  return rank ? std::optional(static_cast<Size>(*rank)) : std::nullopt;
}

}  // namespace

/// "ptbench star SECRET RANK"
std::string star_greeting(Size rank, std::uint64_t secret) {
  return fmt::format("{}{} {}", kStarGreeting, secret, rank);
}

StarDoor::StarDoor(Size size, std::uint64_t secret)
    : secret_(secret), links_(static_cast<std::size_t>(size)), callers_(links_.size()) {}

void StarDoor::look(const Descriptor& listener, std::chrono::milliseconds longest) {
  std::vector<pollfd> events{{.fd = listener.number(), .events = POLLIN, .revents = 0}};
  for (const Descriptor& caller : callers_.waiting())
    events.push_back({.fd = caller.number(), .events = POLLIN, .revents = 0});
  if (poll(events.data(), events.size(), static_cast<int>(longest.count())) <= 0) return;
  hear();
  if (events.front().revents == 0) return;
  if (Descriptor caller = accept_needed(listener); caller.is_open()) take_in(std::move(caller));
}

void StarDoor::take_in(Descriptor caller) { callers_.take_in(std::move(caller)); }

void StarDoor::hear() {
  callers_.hear([this](Descriptor& caller) { return who_is(caller); });
}

/// Of a rank the later connection counts.
CallerIs StarDoor::who_is(Descriptor& caller) {
  const SocketMessage message = receive_message(caller);
  if (message.kind == SocketMessage::Kind::none_yet) return CallerIs::silent;
  const auto rank = rank_in(message.text, secret_);
  if (!rank || *rank < 1 || *rank >= std::ssize(links_)) return CallerIs::stranger;
  make_prompt(caller);
  links_[static_cast<std::size_t>(*rank)] = std::move(caller);
  return CallerIs::rank;
}

std::vector<Size> StarDoor::missing() const {
  std::vector<Size> ranks;
  for (std::size_t rank = 1; rank < links_.size(); ++rank)
    if (!links_[rank].is_open()) ranks.push_back(static_cast<Size>(rank));
  return ranks;
}

std::vector<Descriptor> StarDoor::take_connections() {
  callers_.send_away();
  return std::move(links_);
}

}  // namespace ptbench
