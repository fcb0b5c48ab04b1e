#include "src/comm/star/rank_sockets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/exchange.h"
#include "src/comm/star/rank_door.h"
#include "src/comm/star/star_links.h"

namespace ptbench {
namespace {

/// Where a rank listens, and what it wants to hear there.
struct DoorAddress {
  InterfaceAddress address;
  DoorWord word{};
};

constexpr const char* kConnectRemedy =
    "make sure that programs can connect to each other over that address's network interface";

DoorWord new_word() {
  DoorWord word;
  for (std::uint64_t& part : word) part = new_secret();
  return word;
}

/// "127.0.0.1:4711".
std::string text_of(const InterfaceAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address.bytes), address.length, host.data(),
                  host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  return fmt::format("{}:{}", host.data(), port.data());
}

[[noreturn]] void fail(const char* call, const InterfaceAddress& address, int error_number) {
  throw run_error(fmt::format("{} {}: {}", call, text_of(address),
                              std::generic_category().message(error_number)),
                  kConnectRemedy);
}

RankSocket new_socket(const InterfaceAddress& address) {
  RankSocket socket(
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) fail("socket at", address, errno);
  return socket;
}

int milliseconds_until(std::chrono::steady_clock::time_point end) {
  constexpr std::chrono::milliseconds kMost{60'000};
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), kMost).count());
}

/// Until something happened to one of them, or `end`. False: it is over.
bool await_change(std::span<pollfd> sockets, std::chrono::steady_clock::time_point end) {
  for (;;) {
    const int changed = poll(sockets.data(), sockets.size(), milliseconds_until(end));
    if (changed > 0) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
  }
}

class Meeting {
 public:
  Meeting(Communicator& host, const InterfaceAddress& own, Communicator::Timeout timeout)
      : rank_(static_cast<std::size_t>(host.rank())),
        listener_(new_socket(own)),
        own_{.address = own, .word = new_word()},
        door_(rank_, static_cast<std::size_t>(host.world_size()), own_.word),
        timeout_(timeout) {
    listen();
    doors_ = of_all_ranks(host, own_, timeout);
    end_ = std::chrono::steady_clock::now() + timeout;
  }

  std::vector<RankSocket> connections() {
    std::vector<RankSocket> lower;
    for (std::size_t rank = 0; rank < rank_; ++rank) lower.push_back(call(doors_[rank]));
    while (!door_.missing().empty()) look();
    std::vector<RankSocket> all = door_.take_connections();
    std::ranges::move(lower, all.begin());
    if (door_.strangers() > 0)
      log_warning(fmt::format(
          "a stranger connected to {}, where a rank waited for the others, and was sent away",
          text_of(own_.address)));
    return all;
  }

 private:
  void listen() {
    auto* bytes = reinterpret_cast<sockaddr*>(&own_.address.bytes);
    if (bind(listener_.number(), bytes, own_.address.length) != 0 ||
        ::listen(listener_.number(), SOMAXCONN) != 0 ||
        getsockname(listener_.number(), bytes, &own_.address.length) != 0)
      fail("listen at", own_.address, errno);
  }

  /// A lower rank.
  RankSocket call(const DoorAddress& door) {
    RankSocket socket = new_socket(door.address);
    if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&door.address.bytes),
                door.address.length) != 0) {
      if (errno != EINPROGRESS) fail("connect to", door.address, errno);
      pollfd event{.fd = socket.number(), .events = POLLOUT, .revents = 0};
      if (!await_change({&event, 1}, end_)) fail("connect to", door.address, ETIMEDOUT);
    }
    int error_number = 0;
    socklen_t length = sizeof error_number;
    (void)getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error_number, &length);
    if (error_number != 0) fail("connect to", door.address, error_number);
    // What is so short fits into what the kernel holds of a new connection.
    const RankGreeting greeting{.word = door.word, .rank = rank_};
    if (send(socket.number(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting)
      fail("greet", door.address, errno);
    return socket;
  }

  /// Waits for something to happen at the door, and sees to it.
  void look() {
    std::vector<pollfd> events = door_.events();
    events.push_back({.fd = listener_.number(), .events = POLLIN, .revents = 0});
    if (!await_change(events, end_))
      throw run_error(fmt::format("rank {} of the group did not connect to {} within {:g} s",
                                  door_.missing().front(), text_of(own_.address),
                                  std::chrono::duration<double>(timeout_).count()),
                      kConnectRemedy);
    door_.hear();
    if (events.back().revents != 0) accept();
  }

  void accept() {
    RankSocket socket(accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const int error_number = errno;
    if (!socket.is_open() && (error_number == EMFILE || error_number == ENFILE))
      fail("accept", own_.address, error_number);
    if (socket.is_open()) door_.take_in(std::move(socket));  // else it has gone away again
  }

  std::size_t rank_;
  RankSocket listener_;
  DoorAddress own_;
  RankDoor door_;
  Communicator::Timeout timeout_;
  std::vector<DoorAddress> doors_;  ///< by rank
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

std::vector<RankSocket> connect_ranks(Communicator& host, const InterfaceAddress& own,
                                      Communicator::Timeout timeout) {
  return Meeting(host, own, timeout).connections();
}

}  // namespace ptbench
