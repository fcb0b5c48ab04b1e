#include "src/process/network_socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <system_error>
#include <vector>

namespace ptbench {
namespace {

using std::chrono::steady_clock;

using Length = std::uint32_t;
// For messages that have come. The kernel takes twice as much, for what it needs itself.
constexpr int kRoom = 4 * static_cast<int>(kMostMessage);
// For the rest of a message that has begun to leave.
constexpr std::chrono::milliseconds kRest{200};

std::string text_of(int error_number) { return std::generic_category().message(error_number); }

void set(const Descriptor& socket, int level, int option, int value) {
  (void)setsockopt(socket.number(), level, option, &value, sizeof value);
}

/// Those that a listener accepts are like it.
Descriptor new_socket(const addrinfo& address) {
  Descriptor result(
      socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
  // A message stays in the socket until it is whole. Beside most of one there has to be room for
  // the largest packet, 64 KiB too on loopback, or nothing more comes.
  set(result, SOL_SOCKET, SO_RCVBUF, kRoom);
  return result;
}

Descriptor listener_at(const addrinfo& address) {
  Descriptor socket = new_socket(address);
  if (!socket.is_open()) return {};
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(socket.number(), address.ai_addr, address.ai_addrlen) != 0) return {};
  return listen(socket.number(), SOMAXCONN) == 0 ? std::move(socket) : Descriptor();
}

/// 0, or the error's number.
int outcome_of_connecting(const Descriptor& socket, steady_clock::time_point end) {
  pollfd event{.fd = socket.number(), .events = POLLOUT, .revents = 0};
  int ready = 0;
  do ready = poll(&event, 1, poll_timeout(end));
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) return ETIMEDOUT;
  int error_number = 0;
  socklen_t size = sizeof error_number;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error_number, &size) != 0) return errno;
  return error_number;
}

/// Closed where it fails, with errno.
Descriptor connection_to(const addrinfo& address, steady_clock::time_point end) {
  Descriptor socket = new_socket(address);
  if (!socket.is_open()) return {};
  make_prompt(socket);
  if (connect(socket.number(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return {};
  const int error_number = outcome_of_connecting(socket, end);
  if (error_number == 0) return socket;
  errno = error_number;
  return {};
}

/// By the first of the host's addresses that does.
Descriptor first_of(const HostLookUp& host, std::string& why,
                    const std::function<Descriptor(const addrinfo&)>& open) {
  why = host.why;
  for (const addrinfo* one = host.addresses.get(); one != nullptr; one = one->ai_next) {
    errno = 0;
    if (Descriptor socket = open(*one); socket.is_open()) return socket;
    why = text_of(errno);
  }
  return {};
}

using AddressOfEnd = int (*)(int, sockaddr*, socklen_t*);

NetworkAddress address_of(const Descriptor& socket, AddressOfEnd end) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (end(socket.number(), any, &size) != 0 ||
      getnameinfo(any, size, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  return {.host = host.data(), .port = static_cast<std::uint16_t>(std::stoi(port.data()))};
}

/// Readable once so many bytes are there (socket(7)).
void wait_for_bytes(const Descriptor& socket, std::size_t bytes) {
  set(socket, SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(bytes));
}

/// What lies at the front of a connection: a message, or what has come of one.
struct Front {
  SocketMessage message;  ///< with kind none_yet where it is not whole
  std::size_t whole = 0;  ///< its bytes, as far as that is known; 0: nothing has come
};

Front end_of_messages() {
  Front front;
  front.message.kind = SocketMessage::Kind::closed;
  return front;
}

Front front_of(const Descriptor& socket) {
  Length length = 0;
  const ssize_t seen = recv(socket.number(), &length, sizeof length, MSG_PEEK | MSG_DONTWAIT);
  if (seen < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (seen <= 0 || (seen == sizeof length && length > kMostMessage)) return end_of_messages();
  Front front;
  front.whole = sizeof length + (seen == sizeof length ? length : 0);
  std::vector<char> bytes(front.whole);
  const ssize_t there = recv(socket.number(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (seen < static_cast<ssize_t>(sizeof length) || there < std::ssize(bytes)) return front;
  front.message.kind = SocketMessage::Kind::text;
  front.message.text.assign(bytes.data() + sizeof length, length);
  return front;
}

bool has_ended(const Descriptor& socket) {
  pollfd event{.fd = socket.number(), .events = POLLRDHUP, .revents = 0};
  return poll(&event, 1, 0) > 0;
}

/// Settles whether the rest of one that is not whole is to be awaited.
Front settled_front_of(const Descriptor& socket) {
  const auto is_short = [](const Front& front) {
    return front.message.kind == SocketMessage::Kind::none_yet && front.whole > 0;
  };
  Front front = front_of(socket);
  if (!is_short(front)) return front;
  if (has_ended(socket)) {
    front = front_of(socket);  // the rest and the end may have come since
    return is_short(front) ? end_of_messages() : std::move(front);
  }
  wait_for_bytes(socket, front.whole);
  return front;
}

}  // namespace

Descriptor listen_at(const NetworkAddress& address, std::string& why) {
  return first_of(look_up(address.host, address.port, steady_clock::now() + kLongestLookUp), why,
                  listener_at);
}

Descriptor connect_to(const HostLookUp& host, steady_clock::time_point end, std::string& why) {
  std::ptrdiff_t left = 0;
  for (const addrinfo* one = host.addresses.get(); one != nullptr; one = one->ai_next) ++left;
  return first_of(host, why, [&](const addrinfo& one) {
    const auto now = steady_clock::now();
    return connection_to(one, now + (end - now) / left--);
  });
}

Descriptor connect_to(const NetworkAddress& address, steady_clock::time_point end,
                      std::string& why) {
  return connect_to(look_up(address.host, address.port, end), end, why);
}

void make_prompt(const Descriptor& socket) { set(socket, IPPROTO_TCP, TCP_NODELAY, 1); }

NetworkAddress own_address(const Descriptor& socket) { return address_of(socket, getsockname); }

NetworkAddress peer_address(const Descriptor& socket) { return address_of(socket, getpeername); }

bool is_network_socket(const Descriptor& socket) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(socket.number(), SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

std::string framed(std::string_view text) {
  const auto length = static_cast<Length>(text.size());
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes.append(text);
}

bool send_network_message(const Descriptor& socket, std::string_view text) noexcept {
  if (text.size() > kMostMessage) return false;
  const std::string bytes = framed(text);
  const auto end = steady_clock::now() + kRest;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t part = send(socket.number(), bytes.data() + sent, bytes.size() - sent,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (part > 0) {
      sent += static_cast<std::size_t>(part);
      continue;
    }
    const bool is_full = part < 0 && (errno == EAGAIN || errno == EINTR);
    if (!is_full || sent == 0 || steady_clock::now() >= end) break;
    pollfd event{.fd = socket.number(), .events = POLLOUT, .revents = 0};
    (void)poll(&event, 1, poll_timeout(end));
  }
  // Half a message would spoil those after it.
  if (sent > 0 && sent < bytes.size()) (void)shutdown(socket.number(), SHUT_RDWR);
  return sent == bytes.size();
}

SocketMessage receive_network_message(const Descriptor& socket) {
  Front front = settled_front_of(socket);
  if (front.message.kind != SocketMessage::Kind::text) return std::move(front.message);
  std::vector<char> bytes(front.whole);
  (void)recv(socket.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  wait_for_bytes(socket, 1);
  return std::move(front.message);
}

SocketMessage peek_network_message(const Descriptor& socket) {
  return settled_front_of(socket).message;
}

}  // namespace ptbench
