#include "src/process/local_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "src/base/error.h"
#include "src/process/network_socket.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;

static_assert(kMostSocketName == sizeof(sockaddr_un::sun_path));

struct LocalAddress {
  explicit LocalAddress(std::string_view name) {
    ensure(name.size() < kMostSocketName, "a socket's name is short");
    address.sun_family = AF_UNIX;
    // The null character at the front makes a name abstract, and ends a path.
    const std::ptrdiff_t front = name.starts_with('/') ? 0 : 1;
    std::ranges::copy(name, std::begin(address.sun_path) + front);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t size = 0;
};

Descriptor new_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::optional<ucred> peer_of(const Descriptor& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

/// Room for one descriptor beside a message.
struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

/// The descriptor in `message`, owned from now on.
Descriptor descriptor_in(msghdr& message) {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int)))
    return {};
  int number = -1;
  std::memcpy(&number, CMSG_DATA(header), sizeof number);
  return Descriptor(number);
}

/// With the flags of recvmsg(2).
SocketMessage receive_local(const Descriptor& socket, int flags) {
  flags |= MSG_CMSG_CLOEXEC;
  std::vector<char> bytes(kMostMessage);
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  Control control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  // Exactly: a second descriptor would fit into what aligns the first, and nobody would close it.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  ssize_t size = recvmsg(socket.number(), &message, flags);
  // Told once, before what the other end sent last, where that was closed with messages unread.
  if (size < 0 && errno == ECONNRESET) size = recvmsg(socket.number(), &message, flags);
  SocketMessage result;
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return result;
  if (size <= 0) {  // no message is empty
    result.kind = SocketMessage::Kind::closed;
    return result;
  }
  result.kind = SocketMessage::Kind::text;
  result.descriptor = descriptor_in(message);
  if ((message.msg_flags & MSG_TRUNC) == 0)
    result.text.assign(bytes.data(), static_cast<std::size_t>(size));
  return result;
}

}  // namespace

bool belongs_to_this_user(const Descriptor& socket) {
  const std::optional<ucred> peer = peer_of(socket);
  return peer && peer->uid == getuid();
}

int peer_process(const Descriptor& socket) {
  const std::optional<ucred> peer = peer_of(socket);
  return peer ? peer->pid : 0;
}

Descriptor listen_at(std::string_view name, int& error_number) {
  const LocalAddress address(name);
  Descriptor socket = new_socket();
  if (bind(socket.number(), address.get(), address.size) == 0 &&
      listen(socket.number(), SOMAXCONN) == 0)
    return socket;
  error_number = errno;
  return {};
}

Descriptor connect_to(std::string_view name, int& error_number) {
  const LocalAddress address(name);
  Descriptor socket = new_socket();
  if (connect(socket.number(), address.get(), address.size) == 0) return socket;
  error_number = errno;
  return {};
}

Descriptor accept_from(const Descriptor& listener) {
  return Descriptor(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

Descriptor accept_needed(const Descriptor& listener) {
  Descriptor caller = accept_from(listener);
  const int error_number = errno;
  if (!caller.is_open() && (error_number == EMFILE || error_number == ENFILE))
    throw run_error(fmt::format("no more ranks can be connected: {}",
                                std::generic_category().message(error_number)),
                    "raise the limit of open files (ulimit -n)");
  return caller;
}

bool send_message(const Descriptor& socket, std::string_view text, int descriptor) noexcept {
  if (is_network_socket(socket)) return descriptor < 0 && send_network_message(socket, text);
  std::string copy(text);
  iovec part{.iov_base = copy.data(), .iov_len = copy.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control;
  if (descriptor >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  return sendmsg(socket.number(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

SocketMessage receive_message(const Descriptor& socket) {
  if (is_network_socket(socket)) return receive_network_message(socket);
  return receive_local(socket, 0);
}

SocketMessage peek_message(const Descriptor& socket) {
  if (is_network_socket(socket)) return peek_network_message(socket);
  return receive_local(socket, MSG_PEEK);
}

SocketMessage receive_message(const Descriptor& socket, steady_clock::time_point end) {
  for (;;) {
    SocketMessage message = receive_message(socket);
    if (message.kind != SocketMessage::Kind::none_yet || steady_clock::now() >= end) return message;
    pollfd event{.fd = socket.number(), .events = POLLIN, .revents = 0};
    (void)poll(&event, 1, poll_timeout(end));
  }
}

int poll_timeout(steady_clock::time_point end) {
  constexpr std::int64_t kMost = 60'000;
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(rest, 0, kMost));
}

}  // namespace ptbench
