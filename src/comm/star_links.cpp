#include "src/comm/star_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/operation_text.h"
#include "src/comm/star_door.h"
#include "src/process/local_socket.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;

// Between two looks whether waiting makes sense.
constexpr std::chrono::milliseconds kGlance{20};
// For a host to answer once.
constexpr std::chrono::milliseconds kLongestAnswer{3000};

/// Tells them that all are there. One that has ended meanwhile is missed by its link.
StarLinks complete(StarDoor& door, const NetworkAddress& address) {
  StarLinks star{.rank = 0, .links = door.take_connections()};
  for (const Descriptor& link : star.links)
    if (link.is_open()) (void)send_message(link, kStarIsComplete);
  if (door.strangers() > 0)
    log_warning(fmt::format(
        "a stranger connected to {} port {}, where rank 0 waited for the others, and was sent away",
        address.host, address.port));
  return star;
}

}  // namespace

StarLinks accept_star(const Descriptor& listener, Size size, std::uint64_t secret,
                      const StarPatience& patience) {
  const NetworkAddress address = own_address(listener);
  StarDoor door(size, secret);
  steady_clock::time_point next_look;  // a look may be at all ranks: not at each that comes
  for (;;) {
    const std::vector<Size> missing = door.missing();
    if (missing.empty()) return complete(door, address);
    const auto now = steady_clock::now();
    if (patience.look && now >= next_look) {
      patience.look();
      next_look = now + kGlance;
    }
    if (now >= patience.end)
      throw run_error(fmt::format("{} did not connect to {} port {}", ranks_text(missing),
                                  address.host, address.port),
                      "make sure that programs on the two hosts can connect to each other");
    door.look(listener, kGlance);
  }
}

StarLinks join_star(const NetworkAddress& hub, Size rank, std::uint64_t secret,
                    const StarPatience& patience) {
  std::string why = "nobody listens";
  const auto wait = [&] {
    if (patience.look) patience.look();
    if (steady_clock::now() >= patience.end)
      throw run_error(
          fmt::format("{} port {} does not answer: {}", printable(hub.host), hub.port, why),
          "make sure that programs on the two hosts can connect to each other");
    return steady_clock::now() + kGlance;
  };
  for (;;) {
    const auto soon = wait();
    Descriptor link =
        connect_to(hub, std::min(patience.end, steady_clock::now() + kLongestAnswer), why);
    SocketMessage word;
    if (link.is_open() && send_message(link, star_greeting(rank, secret))) {
      why = "the other ranks have not connected yet";
      while (word.kind == SocketMessage::Kind::none_yet) word = receive_message(link, wait());
    }
    if (word.text != kStarIsComplete) {
      if (link.is_open()) why = "the connection has ended";
      std::this_thread::sleep_until(soon);
      continue;
    }
    StarLinks star{.rank = rank};
    star.links.push_back(std::move(link));
    return star;
  }
}

std::uint64_t new_secret() {
  constexpr unsigned kHalf = 32;
  std::random_device random;
  return std::uint64_t{random()} << kHalf | random();
}

}  // namespace ptbench
